"""DreamSim: a vision transformer fine-tuned to people's similarity judgements.

Fu et al. (2023), DreamSim: learning new dimensions of human visual similarity using
synthetic data. The package `dreamsim` has the transformer; what it builds around it
needs all weight files at hand, and for DINO the network.
"""

import torch
from dreamsim.feature_extraction.vision_transformer import vit_base
from torch import nn

RANK = 16
EMBEDDING = 512


class LowRankLinear(nn.Module):
    """A linear map plus a fine-tuned change of low rank (LoRA, Hu et al. 2022)."""

    def __init__(self, base: nn.Linear, rank: int, scaling: float) -> None:
        super().__init__()
        self.base = base
        self.scaling = scaling
        self.lora_A = nn.Linear(base.in_features, rank, bias=False)
        self.lora_B = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.scaling * self.lora_B(self.lora_A(x))


class QuickGELU(nn.Module):
    """The activation of OpenAI's CLIP."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(1.702 * x)


class DreamSim(nn.Module):
    """One transformer of DreamSim; its output is the embedding, not normalised.

    Parameters
    ----------
    kind : {"clip_vitb32", "open_clip_vitb32", "dino_vitb16"}
        The CLIP kinds give the projected class token; DINO gives the class token of its
        last block, before the last norm.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.projected = kind != "dino_vitb16"
        self.vit = vit_base(patch_size=int(kind[-2:]))
        if self.projected:
            width = self.vit.embed_dim
            # CLIP's norm before the first block takes the place of the dropout there.
            self.vit.pos_drop = nn.LayerNorm(width)
            self.register_buffer("proj", torch.empty(width, EMBEDDING).normal_())
            for module in self.vit.modules():
                if isinstance(module, nn.LayerNorm):
                    module.eps = 1e-5
        if kind == "clip_vitb32":
            for block in self.vit.blocks:
                block.mlp.act = QuickGELU()

    def adapt(self, rank: int = RANK, scaling: float = 1.0) -> None:
        """Add random low-rank changes to every block's queries, keys and values."""
        for block in self.vit.blocks:
            block.attn.qkv = LowRankLinear(block.attn.qkv, rank, scaling)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if self.projected:
            return self.vit(images) @ self.proj
        tokens = self.vit.prepare_tokens(images)
        for block in self.vit.blocks:
            tokens = block(tokens)
        return tokens[:, 0]
