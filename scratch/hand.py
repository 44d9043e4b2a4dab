import json
from itertools import islice
from games.source.duel.native.players import Player, play, won
from games.source.duel.search.evolution import shuffled_settings
from games.source.duel.counting import wilson
for line in open('scratch/hand.jsonl'):
    p=Player.from_json(json.loads(line)["player"])
    out=[]
    for level in (4,6,8,10):
        m=list(islice(shuffled_settings("nineteenth",level),1000)); r=play([p],m); w=int(won(r).sum())
        d=int((r["victories"][...,0]==r["victories"][...,1]).sum())
        out.append((level,w,[round(100*x,1) for x in wilson(w,1000)],d))
    print(p.late,out)
