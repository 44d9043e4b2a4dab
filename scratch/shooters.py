import json,sys
from games.source.duel.native.players import *
S=lambda t:tuple(Step(x.split(":")[0].replace("D","DOWN").replace("U","UP").replace("-",""),int(x.split(":")[1])) for x in t.split())
out=[]
def add(label,p): out.append((label,p))
shot="D:2 D+F:2 F+X:3 "
for late in (0,12):
    for wait in (2,10,20,30,45):
        add(f"loop shoot wait {wait}",Player("loop",(S(shot+f"D+G:{wait}"),),late=late)) if late==0 else None
    for d in (70,90,110,130):
        for near in ("D+G:4","Z:3 D+G:12","U+G:4 -:34","F:2 D:2 D+F+Z:3 D+G:30","D+C:3 D+G:20","F+C:2 D+G:20"):
            add(f"shoot beyond {d}, else {near}",Player("rule",(S(shot+"D+G:20"),S(near)),late=late,conditions=(Condition("distance",d),)))
            for hj in ("D+Z:3 G:14","F:2 D:2 D+F+Z:3 D+G:30","C:3 D+G:12"):
                add(f"shoot beyond {d}, else {near}, high {hj}",Player("rule",(S(shot+"D+G:20"),S(hj),S(near),S(hj)),late=late,conditions=(Condition("distance",d),Condition("enemy is",4))))
with open("/tmp/shooters.jsonl","w") as f:
    for l,p in out: f.write(json.dumps({"label":l,"player":p.as_json()})+"\n")
print(len(out))
