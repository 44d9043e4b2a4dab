# cem2.py late seconds levels seed [warm.json]
from scratch.climb_helper import *
late=int(sys.argv[1]); secs=float(sys.argv[2]); levels=[int(x) for x in sys.argv[3].split(",")]; seed=int(sys.argv[4]); warm=sys.argv[5] if len(sys.argv)>5 else None
rng=np.random.default_rng(seed)
P="""F:2|F:8|G:4|D+G:4|D+G:10|D+G:20|D+G:40|F:3 D+G:6|F:4 G:6 D+G:8|U+F:4 -:20 C:3 D+G:4|U+F:4 -:26 C:3 D+G:4|U:4 -:14 C:3 D+G:10|U+G:4 -:34|U+G:4 -:24 C:3|F+Z:2 F+C:2 D+G:4|F:5 F+Z:2 D+G:6|F:12 F+Z:2 D+G:6|D+C:3 D+G:8|C:3 D+G:8|B:3 D+G:8|D+B:3 D+G:8|D+A:3 D+G:8|D+Z:3 D+G:10|Z:3 D+G:10|X:3 D+G:8|F:4 D+C:3 D+G:8|F:4 C:3 D+G:8|G:10 C:3 D+G:10|G:10 D+C:3 D+G:10|D+G:12 D+C:3 D+G:8|D+G:20 D+C:3 D+G:8|F:2 D:2 D+F+Z:3 D+G:20|D:2 D+F:2 F+X:3 D+G:20|D+A:3 D+G:10 D+A:3 D+G:10 D+C:3 D+G:8|D+A:3 D+G:10 F+Z:3 D+G:8|X:3 D+G:9 F:5 F+Z:3 D+G:8|G:14 D+A:3 D+G:12|F:14 D+G:6|F:10 D+B:3 D+G:8
U+F:4 -:40 F+Z:3 D+G:4|U+F:4 -:40 D+C:3 D+G:6|F+Z:3 D+G:22 D+C:3 D+G:6|F+Z:3 D+G:20 F:4 F+Z:3 D+G:4|D+G:40 D+C:3 D+G:8|D+G:10 F+Z:3 D+G:4|G:6 G+Z:3 G:6|D+G:28 C:3 D+G:8|D+G:8 B:3 D+G:6|U+F:4 -:16 Z:3 D+G:4|D+G:6 D+Z:3 D+G:8|G:12|G:20""".replace("\n","|").split("|")
PAL7=[A(x) for x in P]
E0=[(42,46,50,56,62),(64,70,76,82,90),(100,112,122,136,150)]
HE=(6,12,24,40)
groupsets=[(0,0,0,0,1,1,2),(0,0,0,1,2,2,1),(0,1,0,1,2,2,2),(0,0,0,0,1,2,1),(0,0,1,0,1,1,2)]
wt=None
if warm:
    wt=Player.from_json(json.load(open(warm)))
    for a in wt.answers:
        if a not in PAL7: PAL7.append(a)
K=len(PAL7)
sizes=[K]*24+[5,5,5,4,5]
prob=[np.full(n,1/n) for n in sizes]
if wt:
    for i,a in enumerate(wt.answers): prob[i]*=.5; prob[i][PAL7.index(a)]+=.5
    for j in range(3):
        d=[abs(e-wt.distance_edges[j]) for e in E0[j]]; prob[24+j]*=.5; prob[24+j][int(np.argmin(d))]+=.5
    prob[27][1]+=1; prob[27]/=2
    if wt.status_groups in groupsets: prob[28]*=.1; prob[28][groupsets.index(wt.status_groups)]+=.9
def make(c): return Player("table",late=late,distance_edges=tuple(E0[j][c[24+j]] for j in range(3)),height_edge=HE[c[27]],status_groups=groupsets[c[28]],answers=tuple(PAL7[k] for k in c[:24]))
t0=time.time(); it=0; M=12
while time.time()-t0<secs:
    it+=1
    cs=[[rng.choice(len(q),p=q) for q in prob] for _ in range(100)]
    ps=[make(c) for c in cs]
    s=sum(sc(play(ps,ms(f"cem{seed}-{it}",l,M))) for l in levels)/len(levels)
    top=np.argsort(-s)[:20]
    for i in range(len(sizes)):
        new=np.zeros(sizes[i])
        for t in top: new[cs[t][i]]+=1/20
        prob[i]=.75*prob[i]+.25*new
        prob[i]=.997*prob[i]+.003/sizes[i]
    if it%10==0:
        print(it,int(time.time()-t0),round(s.mean(),3),round(s.max(),3),flush=True)
        json.dump(make([q.argmax() for q in prob]).as_json(),open(f"/tmp/attack6/scratch/cem2_{late}_{seed}.json","w"))
best=make([q.argmax() for q in prob]); print("argmax",ev(best,200),flush=True); keep(f"cem2 {late} {seed} {levels}",best); showp(best)
