"""Learning by playing: a workflow as a Gymnasium environment, and its networks as one module.

Importing this package registers the environment `minibrains/Workflow-v0`:

    import gymnasium

    env = gymnasium.make(
        "minibrains:minibrains/Workflow-v0", workflow="airstriker_pixels", train=["head"]
    )
"""

from gymnasium import register, registry

from minibrains.training.env import WorkflowEnv

ENVIRONMENT = "minibrains/Workflow-v0"

if ENVIRONMENT not in registry:
    register(ENVIRONMENT, entry_point="minibrains.training.env:WorkflowEnv")

__all__ = ["ENVIRONMENT", "WorkflowEnv"]
