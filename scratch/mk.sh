v=$1; rm -rf /tmp/$v; cp -r /tmp/v8 /tmp/$v; cp /work/wt-tune/games/source/duel/*.[ch] /tmp/$v/games/source/duel/; cp /work/wt-tune/scratch/found6.jsonl /tmp/$v/scratch/
