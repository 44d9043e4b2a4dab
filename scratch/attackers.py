import json
from itertools import islice
from games.source.duel.native.players import Player, play, won
from games.source.duel.search.evolution import shuffled_settings
tot=0
for l in open('scratch/found.jsonl'):
    d=json.loads(l)
    if "player" not in d: continue
    p=Player.from_json(d["player"]); out=[]; dr=[]
    for level in (4,6,8,10):
        r=play([p],list(islice(shuffled_settings("att",level),300))); out.append(round(float(won(r).mean())*100)); dr.append(round(float((r["victories"][...,0]==r["victories"][...,1]).mean())*100))
    print(f"{d['label'][:46]:46} late {p.late}",out,"drawn",dr)
