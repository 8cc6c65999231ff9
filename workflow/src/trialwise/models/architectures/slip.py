"""The SLIP family: vision transformers trained on captioned photos with three losses.

Mu et al. (2022), SLIP: self-supervision meets language-image pre-training. Names follow
their published weights.
"""

from collections import OrderedDict

import timm
import torch
from open_clip.transformer import Transformer
from torch import nn

EMBEDDING = 512
N_TOKENS = 49408
CONTEXT = 77
HIDDEN = 4096
PROJECTION = 256


class Slip(nn.Module):
    """Image encoder, and whatever else its loss was computed with.

    The output is that of the image encoder, before any projection; the other parts are
    there because the published weights hold them and the published size counts them.

    Parameters
    ----------
    loss : {"clip", "simclr", "slip"}
        CLIP adds a text encoder and projections, SimCLR a projection head, SLIP both.
    size : {"small", "base", "large"}
    """

    def __init__(self, loss: str, size: str) -> None:
        super().__init__()
        # Not timm's 6 heads: as in MoCo v3, with the same number of parameters.
        heads = {"num_heads": 12} if size == "small" else {}
        self.visual = timm.create_model(
            f"vit_{size}_patch16_224", num_classes=0, **heads
        )
        width = self.visual.num_features
        if loss in ("clip", "slip"):
            self.transformer = Transformer(EMBEDDING, layers=12, heads=8)
            self.token_embedding = nn.Embedding(N_TOKENS, EMBEDDING)
            self.positional_embedding = nn.Parameter(torch.empty(CONTEXT, EMBEDDING))
            self.ln_final = nn.LayerNorm(EMBEDDING)
            self.image_projection = nn.Parameter(torch.empty(width, EMBEDDING))
            self.text_projection = nn.Parameter(torch.empty(EMBEDDING, EMBEDDING))
            self.logit_scale = nn.Parameter(torch.empty([]))
            for parameter in (
                self.positional_embedding,
                self.image_projection,
                self.text_projection,
            ):
                nn.init.normal_(parameter, std=0.02)
            nn.init.ones_(self.logit_scale)
        if loss in ("simclr", "slip"):
            self.image_mlp = nn.Sequential(
                OrderedDict(
                    layer1=nn.Linear(width, HIDDEN),
                    bn1=nn.BatchNorm1d(HIDDEN),
                    relu1=nn.ReLU(),
                    layer2=nn.Linear(HIDDEN, HIDDEN),
                    bn2=nn.BatchNorm1d(HIDDEN),
                    relu2=nn.ReLU(),
                    layer3=nn.Linear(HIDDEN, PROJECTION),
                )
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.visual(images)
