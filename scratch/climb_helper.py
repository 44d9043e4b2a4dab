from scratch.u4 import *
R=random.Random()
BASE="F:1|F:4|F:10|G:4|D+G:3|D+G:8|D+G:14|D+G:24|G:12|G:24|-:4|U:4 -:34|U+G:4 -:34|U+F:4 -:34|F:2 D:2 D+F+Z:3 D+G:6|F:2 D:2 D+F+Z:3 D+G:30|F:2 D:2 D+F+X:3 D+G:30|D:2 D+F:2 F+X:3 D+G:30|D:2 D+F:2 F+Z:3 F:6|F+Z:2 F+C:2 D+G:24|F+Z:2 D+G:6|F+C:2 F+Z:2 F+C:2 D+G:14|F:6 F+Z:2 F+C:2 D+G:20|F:4 D+G:4|G:4 D+G:4|D+X:3 D+G:8 F+Z:2 F+C:2 D+G:10|D+X:3 D+G:11 D+X:3 D+G:11 D+C:3 D+G:16|D+A:3 D+G:11 D+A:3 D+G:11 F+Z:2 D+G:16|X:3 F:8 F+Z:2 F+C:2 D+G:14|D+G:6 G+Z:2 D+G:4|X:2 G+Z:2 G+C:2 G+Z:2 G:8|G:14 C:3 D+G:24|G:8 D+C:3 D+G:24|D+G:10 C:3 D+G:24|F:4 G:8 C:3 D+G:24".split("|")
for b in "XYZABC":
    for w in ("","D+"):
        BASE+= [f"{w}{b}:3 D+G:{n}" for n in (6,12,22)]+[f"F:{n} {w}{b}:3 D+G:16" for n in (4,9,16)]
for b in "CBZ":
    for n in (6,12,18,24,30): 
        BASE+=[f"U+F:4 -:{n} {b}:3 D+G:6",f"U:4 -:{n} {b}:3 D+G:6",f"U+G:4 -:{n} {b}:3 D+G:6"]
PAL=[A(x) for x in BASE]
def mutstep(a):
    a=list(a); i=R.randrange(len(a)); k=R.random()
    if k<.55: a[i]=Step(a[i].held,max(1,min(60,a[i].frames+R.choice((-6,-4,-3,-2,-1,1,2,3,4,6)))))
    elif k<.7 and len(a)<6: a.insert(i+R.randrange(2),R.choice(R.choice(PAL)))
    elif k<.8 and len(a)>1: a.pop(i)
    else: a[i]=Step(R.choice(R.choice(PAL)).held,a[i].frames)
    return tuple(a)
def mutate(p,cells=None):
    a=list(p.answers); q=p
    for _ in range(R.choice((1,1,1,2,3))):
        k=R.random()
        c=R.choice(cells or range(len(a)))
        if k<.45: a[c]=R.choice(PAL)
        elif k<.8: a[c]=mutstep(a[c])
        elif k<.87: a[c]=a[R.choice(cells or range(len(a)))]
        elif p.kind=="table":
            e=list(q.distance_edges); i=R.randrange(3); e[i]+=R.choice((-8,-4,-2,2,4,8)); e.sort()
            h=q.height_edge+R.choice((-8,-3,0,0,0,3,8)); g=list(q.status_groups)
            if R.random()<.3: g[R.randrange(7)]=R.randrange(3)
            q=replace(q,distance_edges=tuple(e),height_edge=max(4,h),status_groups=tuple(g))
        elif p.kind=="rule":
            cs=list(q.conditions); i=R.randrange(len(cs)); c0=cs[i]
            if c0.feature.endswith("is"): cs[i]=Condition(c0.feature,(c0.below^(1<<R.randrange(7))) & 127)
            elif R.random()<.85: cs[i]=Condition(c0.feature,c0.below+R.choice((-20,-8,-4,-2,2,4,8,20)))
            else: cs[i]=drawcond()
            q=replace(q,conditions=tuple(cs))
    return replace(q,answers=tuple(a))
def drawcond():
    f=R.choice(("distance","distance","height","enemy frames","own frames","lead","enemy is","own is"))
    v={"distance":lambda:R.randrange(40,200),"height":lambda:R.randrange(8,60),"enemy frames":lambda:R.randrange(2,60),"own frames":lambda:R.randrange(2,60),"lead":lambda:R.choice((1,1,20,60,-20)),"enemy is":lambda:R.randrange(1,127),"own is":lambda:R.randrange(1,127)}[f]()
    return Condition(f,v)
def sc(r):
    v=r["victories"].astype(int); rd=np.maximum(1,r["rounds"])
    return ((v[...,0]>v[...,1])*1.0+ .25*(v[...,0]-v[...,1])/2 + .004*(r["dealt"].astype(int)-r["taken"])/rd).mean(-1)
def climb(p,levels,secs,n1=40,n2=120,cells=None,turtle=0,say=True):
    t0=time.process_time(); it=0; best=p; seq=0
    def f(q,seed,n):
        rs=[play([q],list(ms(f"c{seed}",l,n)))[0] for l in levels]
        s=sum(sc(r) for r in rs)/len(levels)
        if turtle: s-=sum(max(0,r["dealt"].sum()/r["rounds"].sum()-turtle+2)*.03 for r in rs)/len(levels)
        return s
    cache={}
    def fb(seed,n):
        k=(seed,n)
        if k not in cache: cache[k]=f(best,seed,n)
        return cache[k]
    while time.process_time()-t0<secs:
        it+=1; q=mutate(best,cells); 
        if q==best: continue
        s=seq%12
        if f(q,s,n1)<fb(s,n1)-.0: continue
        if f(q,s+100,n2)<=fb(s+100,n2)+.005: continue
        best=q; cache.clear(); seq+=1
    if say: print(levels,'tried',it,'steps',seq,'|',ev(best,300,"fresh"),flush=True)
    return best
def showp(p):
    print(p.kind,p.late,p.distance_edges,p.height_edge,p.status_groups,[str(c) for c in p.conditions])
    for i,a in enumerate(p.answers): print('  ',(i//6,i//2%3,i%2) if p.kind=="table" else i,S(a))
def keep(label,p): open('/tmp/attack3/scratch/found4.jsonl','a').write(json.dumps({"label":label,"player":p.as_json()})+"\n")
