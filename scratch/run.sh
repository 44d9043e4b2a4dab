v=$1; cd /tmp/$v; export PYTHONPATH=/tmp/$v; P=/work/main/.venv/bin/python
$P scratch/eval_set.py ${2:-60} /tmp/shooters.jsonl > /tmp/sh.$v 2>&1; $P scratch/eval_set.py ${2:-60} scratch/evalset.jsonl scratch/found*.jsonl > /tmp/es.$v 2>&1
