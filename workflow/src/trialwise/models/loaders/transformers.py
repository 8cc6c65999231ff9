"""Language models of transformers."""

from pathlib import Path

import transformers
from torch import nn

from trialwise.errors import InputError
from trialwise.models.registry import Model

# Architectures as published, to build them without their configuration file.
_CONFIGURATIONS = {
    "bert-base-uncased": transformers.BertConfig(),
    "roberta-base": transformers.RobertaConfig(
        vocab_size=50265,
        max_position_embeddings=514,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
    ),
    "distilbert-base-uncased": transformers.DistilBertConfig(),
    "all-MiniLM-L6-v2": transformers.BertConfig(
        hidden_size=384, num_hidden_layers=6, intermediate_size=1536
    ),
}


def build(model: Model, files: list[Path] | None) -> nn.Module:
    """Build the network, with random weights or from its folder.

    Parameters
    ----------
    model : Model
    files : list of path, optional
        Configuration and weights, in one folder.

    Returns
    -------
    torch.nn.Module

    Raises
    ------
    InputError
        If it is to be built without files and its configuration is not known here.
    RuntimeError
        If the weight file does not fill the network.
    """
    if files is None:
        if model.name not in _CONFIGURATIONS:
            raise InputError(
                f"{model.id}: the configuration of {model.name} is in its files only. "
                "Fetch the weights of the model first."
            )
        return transformers.AutoModel.from_config(_CONFIGURATIONS[model.name])
    module, report = transformers.AutoModel.from_pretrained(
        files[0].parent, local_files_only=True, output_loading_info=True
    )
    if report["missing_keys"]:
        raise RuntimeError(
            f"Missing keys: {', '.join(sorted(report['missing_keys']))}."
        )
    return module
