"""Language nodes: prompts, vision-language models, their adapters, and what they answer."""
