/* scratch harness: simple players against the opponent, evolution */
#include "console.h"
unsigned char ram[65536];
#include "input.c"
#include "characters.c"
#include "fighter.c"
#undef GRAVITY
#include "rules.c"
#define RISING_SAFE_ 0
#define tactics tactics_base
#include "tactics.h"

#undef tactics
static s8 T[SITUATIONS][DEEDS][CIRCUMSTANCES]; static struct options T2[SITUATIONS];
static void sync(void){ for(int s=0;s<SITUATIONS;s++){ int n=0; for(int d=0;d<DEEDS;d++) if(T[s][d][0]){ T2[s].deeds[n]=d; for(int k=0;k<CIRCUMSTANCES;k++) T2[s].logarithms[k][n]=T[s][d][k]; n++; } T2[s].count=n; } }
#define tactics T2
#include "sight.c"
#include "mind.c"
#include "habits.c"
#define SAFE_TO_SHOOT_ 
#include "situations.c"
#undef MARGIN
#include "choosing.c"
#include "deeds.c"
#define is_down is_down2
#include "opponent_lab.c"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
#include <math.h>

static u32 rs = 12345;
static u32 rnd(void){ rs ^= rs<<13; rs ^= rs>>17; rs ^= rs<<5; return rs; }
static int rint_(int a,int b){ return a + (int)(rnd() % (u32)(b-a+1)); }
static double runif(void){ return (rnd()>>8) / 16777216.0; }

/* ---------- players ---------- */
/* ways: bits FORWARD 1 BACK 2 UP 4 DOWN 8 (relative), for blind ones FORWARD=right BACK=left */
static const u16 BTN[7] = {0, PAD_X, PAD_Y, PAD_Z, PAD_A, PAD_B, PAD_C};
static const u8 WAYS9[9] = {0, 4, 8, 1, 2, 5, 6, 9, 10};
typedef struct { u8 way, btn, dur; } St;
#define MS 6
typedef struct { const char*name; int n; St s[8]; } Macro;
static const Macro MAC[] = {
 {"none",1,{{0,0,3}}},
 {"fwd",1,{{1,0,4}}}, {"back",1,{{2,0,4}}}, {"lowguard",1,{{10,0,4}}}, {"crouch",1,{{8,0,4}}},
 {"rising",4,{{1,0,2},{8,0,2},{9,3,3},{10,0,8}}},
 {"shot",4,{{8,0,2},{9,0,2},{1,2,3},{10,0,8}}},
 {"sweep",2,{{8,6,3},{8,0,20}}}, {"standC",2,{{0,6,3},{0,0,10}}}, {"standB",2,{{0,5,3},{0,0,8}}}, {"standA",2,{{0,4,3},{0,0,6}}},
 {"crB",2,{{8,5,3},{8,0,8}}}, {"crA",2,{{8,4,3},{8,0,6}}}, {"crZ",2,{{8,3,3},{8,0,16}}}, {"standZ",2,{{0,3,3},{0,0,10}}}, {"standX",2,{{0,1,3},{0,0,6}}},
 {"throw",2,{{1,3,3},{0,0,10}}},
 {"jumpC4",3,{{5,0,4},{0,0,3},{0,6,3}}}, {"jumpC10",3,{{5,0,4},{0,0,9},{0,6,3}}}, {"jumpC20",3,{{5,0,4},{0,0,19},{0,6,6}}}, {"jumpupC",3,{{4,0,4},{0,0,8},{0,6,3}}},
 {"jumpZ20",3,{{5,0,4},{0,0,19},{0,3,6}}}, {"jumpback",2,{{6,0,4},{0,0,25}}}, {"fwdlong",1,{{1,0,12}}},
};
#define NM ((int)(sizeof MAC/sizeof*MAC))
enum { K_SIDE, K_BLIND, K_RULE1, K_RULE2, K_TABLE, K_ACT, K_CELLS };
enum { F_GAP, F_HEIGHT, F_STATUS, F_OWN, F_SINCE, F_SHOT, NF };
typedef struct {
  int kind, n, late; St s[MS];
  int nr; struct { u8 f, op; int t; u8 f2, op2; int t2; u8 mac; } r[3]; u8 dflt;
  u8 tab[24];
  int aint; u8 act[6];
  u8 grp[7], nopt; s16 edge[3], hedge; u8 ck; u8 cf[2]; s16 ct[2];
  double score, wins;
} Player;

typedef struct { int gap,height,st,own,since,shot; u8 right; int osince,lead; } View;
typedef struct { Player p; int level; } Entry;
static View hist[64]; static int hn;
static int stclass(const struct fighter*f){ /* 0 idle 1 crouch 2 jump 3 block 4 attack 5 special 6 hit */ return (fighter_status(f)-512)/2; }

static int feat(const View*v,int f){ switch(f){case F_GAP:return v->gap;case F_HEIGHT:return v->height;case F_STATUS:return v->st;case F_OWN:return v->own;case F_SINCE:return v->since;default:return v->shot;} }
static int cond(const View*v,u8 f,u8 op,int t){ int x=feat(v,f); if(f==F_STATUS||f==F_OWN) return (op? x!=t : x==t); return op? x>=t : x<=t; }
/* 44 actions */
static St ACT[44][8]; static int ACTN[44];
static void mkact(void){ /* way rel forward/back, like sf2 table */
  int k=0; u8 pos[9]={0,4,8,2,6,10,1,5,9};
  for(int i=0;i<9;i++){ACT[k][0]=(St){pos[i],0,255};ACTN[k++]=1;}
  u8 pw[4]={0,8,2,1}; for(int b=1;b<=3;b++)for(int w=0;w<4;w++){ACT[k][0]=(St){pw[w],b,4};ACT[k][1]=(St){pw[w],0,255};ACTN[k++]=2;}
  u8 kw[6]={0,8,2,1,10,9}; for(int b=4;b<=6;b++)for(int w=0;w<6;w++){ACT[k][0]=(St){kw[w],b,4};ACT[k][1]=(St){kw[w],0,255};ACTN[k++]=2;}
  St a[4]={{8,0,2},{9,0,2},{1,2,3},{0,0,255}}; memcpy(ACT[k],a,sizeof a);ACTN[k++]=4;
  St c[4]={{1,0,2},{8,0,2},{9,3,3},{0,0,255}}; memcpy(ACT[k],c,sizeof c);ACTN[k++]=4;
  ACT[k][0]=(St){1,0,255};ACTN[k++]=1; ACT[k][0]=(St){2,0,255};ACTN[k++]=1;
  St d[3]={{4,0,3},{0,0,2},{0,6,255}}; memcpy(ACT[k],d,sizeof d);ACTN[k++]=3;
}
typedef struct { const St*s; int n,at,left,frame,ai; u8 active; } PS;
static u16 topad(u8 way,u8 btn,u8 right){ u16 p=BTN[btn]; if(way&1)p|=right?PAD_RIGHT:PAD_LEFT; if(way&2)p|=right?PAD_LEFT:PAD_RIGHT; if(way&4)p|=PAD_UP; if(way&8)p|=PAD_DOWN; return p; }

#define NA 28
static const struct {const char*n; u8 way,btn;} TA[NA]={{"none",0,0},{"up",4,0},{"down",8,0},{"back",2,0},{"up+back",6,0},{"down+back",10,0},{"forward",1,0},{"up+forward",5,0},
 {"X",0,1},{"down+X",8,1},{"Y",0,2},{"down+Y",8,2},{"Z",0,3},{"down+Z",8,3},{"back+Z",2,3},{"forward+Z",1,3},{"A",0,4},{"down+A",8,4},{"down+back+A",10,4},{"B",0,5},{"down+B",8,5},{"down+back+B",10,5},{"C",0,6},{"back+C",2,6},{"forward+C",1,6},{"down+back+C",10,6},{"projectile",200,0},{"rising",201,0}};
static u16 tapad(int a,int k,u8 right){ u8 w=TA[a].way,b=TA[a].btn; if(w==200){ return k<2?PAD_DOWN:(k<4?topad(9,0,right):k<7?topad(1,2,right):0); } if(w==201){ return k<2?topad(1,0,right):k<4?PAD_DOWN:k<7?topad(9,3,right):0; } return topad(w,k<4?b:0,right); }
static int cellof(const Player*p,const View*v){
  if(p->ck==0){ int g=0; while(g<3&&v->gap>=p->edge[g])g++; return (g*3+p->grp[v->st])*2+(v->height>=p->hedge); }
  int c=0; for(int i=0;i<p->ck;i++){ int f=p->cf[i],t=p->ct[i],x; switch(f){case 0:x=v->gap<t;break;case 1:x=v->height<t;break;case 2:x=v->since<t;break;case 3:x=v->osince<t;break;case 4:x=v->lead<t;break;case 5:x=t>>v->st&1;break;default:x=t>>v->own&1;} c=2*c+x; } return c; }
static float CW[24][64]; static int cwstoch=0; static int cch[8000][3],ncch,crec=0;
#define NOPT(p) ((p)->aint?NTA:NM)
static int pickopt(const Player*p,const View*v){ int c=cellof(p,v); if(!cwstoch) return p->tab[c]; int n=p->aint?28:24; float*w=CW[c],mx=-1e9,sum=0,pr[64]; for(int i=0;i<n;i++) if(w[i]>mx)mx=w[i]; for(int i=0;i<n;i++){pr[i]=expf(w[i]-mx);sum+=pr[i];} float u=runif()*sum; int a; for(a=0;a<n-1;a++){u-=pr[a]; if(u<0)break;} if(crec&&ncch<8000){cch[ncch][0]=c;cch[ncch][1]=a;cch[ncch][2]=hn;ncch++;} return a; }
static int pickmac(const Player*p,const View*v){
  if(p->kind==K_TABLE){ int g=v->gap<46?0:v->gap<70?1:v->gap<120?2:3; int s=v->height>8?2:v->st==4||v->st==5?1:v->st==6?3:0; int h=0; (void)h; return p->tab[g*4+s]; }
  for(int i=0;i<p->nr;i++) if(cond(v,p->r[i].f,p->r[i].op,p->r[i].t) && (p->kind==K_RULE1||p->r[i].f2==255||cond(v,p->r[i].f2,p->r[i].op2,p->r[i].t2))) return p->r[i].mac;
  return p->dflt;
}
static u16 player_pad(const Player*p,PS*s){
  const View*v=&hist[(hn-p->late)&63];
  if(p->kind==K_CELLS&&p->aint){ if(s->frame%p->aint==0){ s->ai=pickopt(p,v); s->at=0; s->active=v->right; } s->frame++; return tapad(s->ai,s->at++,s->active); }
  if(p->kind==K_ACT){
    if(s->frame++%p->aint==0){ s->s=ACT[p->act[s->ai%p->n]]; s->n=ACTN[p->act[s->ai%p->n]]; s->ai++; s->at=0; s->left=s->s[0].dur; s->active=1; }
    St c=s->s[s->at]; if(c.dur!=255 && --s->left==0 && s->at+1<s->n){ s->at++; s->left=s->s[s->at].dur; } return topad(c.way,c.btn,p->late==1?1:v->right);
  }
  if(!s->active){
    if(p->kind==K_SIDE||p->kind==K_BLIND){ s->s=p->s; s->n=p->n; }
    else { int m=p->kind==K_CELLS?pickopt(p,v):pickmac(p,v); s->s=MAC[m].s; s->n=MAC[m].n; }
    s->at=0; s->left=s->s[0].dur; s->active=1;
  }
  St c=s->s[s->at];
  if(--s->left<=0){ if(++s->at>=s->n) s->active=0; else s->left=s->s[s->at].dur; }
  return topad(c.way,c.btn,p->kind==K_BLIND?1:v->right);
}

/* ---- teacher: softmax table at interval 30 ---- */
#define TC 96
static int trec; static float TW[TC][NA]; static int teach_on=0, teach_greedy=0, teach_int=30, teach_late=0;
typedef struct { int frame, at, act, cell, last[2]; u8 right; int since, st, lx, ly; float shot; int stun; } TS;
static int tcell(const View*v,int since,int falls,float shot,int mine){
  int g=v->gap<44?0:v->gap<62?1:v->gap<90?2:v->gap<130?3:v->gap<190?4:5;
  if(mine==2) return 84+(v->gap<60);
  if(shot>-10&&shot<34) return 86+(v->gap<110);
  if(mine==3) return 88+(g<2?0:g<3?1:2);
  if(mine==6) return 91+(g<3?0:1);
  int st=v->st; int t;
  if(st<=1) t=st; else if(st==3) t=2; else if(st==2) t= !falls?3:v->height>40?4:5; else if(st==4) t= since<8?6:since<18?7:8; else if(st==5) t= since<14?9:since<36?10:11; else t= since<12?12:13;
  return t*6+g; }
static const char*GN[]={"<44","<62","<90","<130","<190",">190"},*TN[]={"stand","crouch","block","jump up","jump falls high","falls low","attack<8","attack<18","attack late","special<14","special<36","special late","hit<12","hit late"};
static int tch[4000][3],ntch; static u16 teach_pad(TS*s,const View*v0){
  const View*v=&hist[(hn-teach_late)&63], *pv=&hist[(hn-teach_late-1)&63]; (void)v0;
  s->since= v->st==s->st? s->since+1:0; int falls=v->height<s->ly; s->ly=v->height; int began= v->st==5&&s->since==0; s->st=v->st;
  s->shot-= 1; if(began) s->shot=14+(v->gap-46)/3.6f-teach_late;
  if(s->frame%teach_int==0){ int c=tcell(v,s->since,falls,s->shot,v->own); int a=0; float*w=TW[c];
    if(teach_greedy){ int b=-1; for(int i=0;i<NA;i++){ if(s->last[0]==i&&s->last[1]==i) continue; if(b<0||w[i]>w[b]) b=i; } a=b; }
    else { float mx=-1e9,sum=0,p[NA]; for(int i=0;i<NA;i++) if(w[i]>mx)mx=w[i]; for(int i=0;i<NA;i++){ p[i]=expf(w[i]-mx); if(s->last[0]==i&&s->last[1]==i) p[i]=0; sum+=p[i]; } float u=runif()*sum; for(a=0;a<NA-1;a++){ u-=p[a]; if(u<0) break; } }
    s->last[0]=s->last[1]; s->last[1]=a; s->act=a; s->at=0; s->right=v->right; s->cell=c; if(trec&&ntch<4000){tch[ntch][0]=c;tch[ntch][1]=a;tch[ntch][2]=hn;ntch++;} }
  s->frame++; return tapad(s->act,s->at++,s->right); }
/* ---------- match ---------- */
typedef struct { int out; int wins_r,loss_r; int dealt,taken; int rounds,clock; int frames; } Res;
static long total_frames; static int rec,nch,nev; static struct{u8 k,s,d;u16 asp;int f;int gap,st,fr,h;} ch[20000]; static struct{int f,g,h;} ev[5000];
static u32 landdmg[2][MOVES]; static int sd[SITUATIONS][DEEDS], sn[SITUATIONS][DEEDS], hist_on=0;
static Res match(const Player*p,int level,int ca,int cb,u32 seed,int side_cpu_level){
  sync(); Res r={0}; PS ps={0}; TS ts={.last={-1,-2},.shot=-100}; ntch=0; memset(ram,0,sizeof ram);
  memset(&game,0,sizeof game); memset(ring,0,sizeof ring); newest=0; memset(minds,0,sizeof minds);
  game.fighters[0].character=ca; game.fighters[1].character=cb;
  opponent_seed(seed); rules_new_match(); opponent_new_match(); hn=0; memset(hist,0,sizeof hist);
  int ph0=0,ph1=0; int lasto=-1,since=0;
  for(;;){
    u16 pads[2]={0,0}; u16 round=game.round;
    struct fighter*a=&game.fighters[0],*b=&game.fighters[1];
    if(game.phase==PHASE_FIGHT){
      hn++; View*v=&hist[hn&63]; int ax=pixels(a->x),bx=pixels(b->x); int st=stclass(b); since= st==lasto?since+1:0; lasto=st;
      *v=(View){abs(ax-bx),pixels((s16)(GROUND-b->y)),st,stclass(a),since,b->projectile.flies?abs(pixels(b->projectile.x)-ax):400,ax<=bx,0,(a->hp<0?0:a->hp)-(b->hp<0?0:b->hp)}; { static int lo,os; if(hn==1){lo=-1;os=0;} os= v->own==lo?os+1:0; lo=v->own; v->osince=os; }
      if(hn==1) for(int i=0;i<64;i++) hist[i]=*v;
      pads[0]= teach_on? teach_pad(&ts,v): p? player_pad(p,&ps) : opponent_pad(0,side_cpu_level);
      pads[1]=opponent_pad(1,level);
    }
    int h0=a->hp,h1=b->hp; ph0=h0;ph1=h1; int bm=b->move, am=a->move;
    rules_step(pads); opponent_observe(); if(game.round!=round) opponent_new_round();
    if(game.phase==PHASE_FIGHT||game.phase==PHASE_ROUND_OVER){ int d1=ph1-game.fighters[1].hp, d0=ph0-game.fighters[0].hp; if(d1>0&&d1<200){r.dealt+=d1;landdmg[0][am]+=d1; struct choice*c=&minds[1].trail[minds[1].newest_choice]; sd[c->situation][T2[c->situation].deeds[c->option]]-=d1;} if(d0>0&&d0<200){r.taken+=d0;landdmg[1][bm]+=d0; struct choice*c=&minds[1].trail[minds[1].newest_choice]; sd[c->situation][T2[c->situation].deeds[c->option]]+=d0;} }
    if(rec){ struct choice*c=&minds[1].trail[minds[1].newest_choice]; if(c->frame&&c->frame==minds[1].frame&&game.phase==PHASE_FIGHT&&pads[1]+1){ ch[nch].k=0;ch[nch].asp=habits_seen(&minds[1].habits)|1|(skills[level].reaction<QUICK_BELOW)<<QUICK|1<<(AS_KAZE+game.fighters[1].character);ch[nch].s=c->situation;ch[nch].gap=abs(pixels(game.fighters[0].x)-pixels(game.fighters[1].x));ch[nch].st=game.fighters[1].state;ch[nch].fr=game.fighters[0].frame;ch[nch].d=T2[c->situation].deeds[c->option];ch[nch++].f=r.frames; } int d1=ph1-game.fighters[1].hp,d0=ph0-game.fighters[0].hp; if(d1>=200||d1<0)d1=0; if(d0>=200||d0<0)d0=0; if(d0-d1){ev[nev].f=r.frames;ev[nev].h=hn;ev[nev++].g=d0-d1;} }
    r.frames++; if(minds[1].frame && minds[1].trail[minds[1].newest_choice].frame==minds[1].frame) sn[minds[1].trail[minds[1].newest_choice].situation][T2[minds[1].trail[minds[1].newest_choice].situation].deeds[minds[1].trail[minds[1].newest_choice].option]]++;
    if(game.phase==PHASE_MATCH_OVER) break;
  }
  r.wins_r=game.victories[0]; r.loss_r=game.victories[1]; r.rounds=game.round; r.clock=game.time_outs; r.out= r.wins_r>r.loss_r?1:r.wins_r<r.loss_r?-1:0;
  total_frames+=r.frames; return r;
}
static void play(Player*p,int level,int n,u32 seed0){ double w=0,m=0; for(int i=0;i<n;i++){ Res r=match(p,level,(i)&3,(i>>2)&3,seed0+i*7919u,0); w+=r.out>0; m+=(r.dealt-r.taken)/(176.0*r.rounds);} p->wins=w/n; p->score=w/n+0.3*m/n; }
/* ---------- evolution ---------- */
static St rst(void){ return (St){WAYS9[rint_(0,8)],(u8)(runif()<0.5?0:rint_(1,6)),(u8)(runif()<0.5?rint_(1,8):rint_(1,40))}; }
static void rrule(Player*p,int i){ p->r[i].f=rint_(0,5); p->r[i].op=rnd()&1; int f=p->r[i].f; p->r[i].t= f==F_GAP?rint_(34,160):f==F_HEIGHT?rint_(4,80):f==F_SINCE?rint_(0,40):f==F_SHOT?rint_(30,150):rint_(0,6); p->r[i].f2=rint_(0,5); p->r[i].op2=rnd()&1; f=p->r[i].f2; p->r[i].t2= f==F_GAP?rint_(34,160):f==F_HEIGHT?rint_(4,80):f==F_SINCE?rint_(0,40):f==F_SHOT?rint_(30,150):rint_(0,6); if(runif()<0.3)p->r[i].f2=255; p->r[i].mac=rint_(0,NM-1); }
static Player rplayer(int kind,int late){ Player p; memset(&p,0,sizeof p); p.kind=kind; p.late=late; p.n=rint_(1,MS); for(int i=0;i<MS;i++)p.s[i]=rst(); p.nr=kind==K_RULE1?1:kind==K_RULE2?rint_(1,2):0; for(int i=0;i<3;i++)rrule(&p,i); p.dflt=rint_(0,NM-1); for(int i=0;i<24;i++)p.tab[i]=rint_(0,NM-1); if(kind==K_ACT){int o[3]={30,12,6};p.aint=o[rint_(0,2)];p.n=rint_(1,4);for(int i=0;i<6;i++)p.act[i]=rint_(0,43); p.late=0;} return p; }
static Player mutate(Player p){ int k=rint_(1,2); while(k--){ switch(p.kind){
  case K_SIDE: case K_BLIND: { double u=runif(); int i=rint_(0,p.n-1); if(u<0.35) p.s[i].dur=(u8)fmax(1,fmin(40,p.s[i].dur+rint_(-4,4))); else if(u<0.6) p.s[i]=rst(); else if(u<0.7) p.s[i].btn=rint_(0,6); else if(u<0.8) p.s[i].way=WAYS9[rint_(0,8)]; else if(u<0.9&&p.n<MS){ for(int j=p.n;j>i;j--)p.s[j]=p.s[j-1]; p.s[i]=rst(); p.n++; } else if(p.n>1){ for(int j=i;j<p.n-1;j++)p.s[j]=p.s[j+1]; p.n--; } } break;
  case K_RULE1: case K_RULE2: { double u=runif(); int i=rint_(0,p.nr-1); if(u<0.3) p.r[i].t+=rint_(-12,12); else if(u<0.45) p.r[i].t2+=rint_(-12,12); else if(u<0.6) p.r[i].mac=rint_(0,NM-1); else if(u<0.8) p.dflt=rint_(0,NM-1); else if(u<0.9) rrule(&p,i); else if(p.kind==K_RULE2) p.nr= p.nr==2?1:2; } break;
  case K_TABLE: p.tab[rint_(0,15)]=rint_(0,NM-1); break;
  case K_ACT: { double u=runif(); if(u<0.7) p.act[rint_(0,p.n-1)]=rint_(0,43); else if(u<0.85&&p.n<4) p.n++; else if(p.n>1) p.n--; } break; } } return p; }
static const char*SIT[]={"AFAR","BETWEEN","A_STEP_OFF","AT_REACH","CLOSE","UNDER_FIRE","BLOCKS_NEAR","BLOCKS_AFAR","IN_THE_AIR","GETTING_UP","LIES_AFAR","LIES_NEAR","JUMPS_AT","JUMPS_SHORT","JUMPS_OVER","SHOT_FAR","SHOT_NEAR","ROSE","STRUCK_AT","STRIKES_SHORT","HAS_STRUCK"};
static const char*DEE[]={"STAY_LOW","STAY_HIGH","WALK_IN","CREEP_IN","WALK_OUT","BAIT","HOVER","HOP_OUT","HOP_UP","LEAP","POKE","LIGHT","SWEEP","KICK_HIGH","UPPERCUT","MEET","GRAB","WALK_AND_GRAB","STRING","RISE","SHOOT","UPPERCUT_L","SWEEP_L","RISE_L","WALK_UNDER","GUARD_PUNISH","PUNISH","MEET_SHOT","GUARD_SHOT","JUMP_SHOT","SWEEP_AGAIN","STAND_BY","GUARD_ON","SWEEP_B","LIGHT_B","GRAB_B","RISE_B","HOP_B","LEAP_B","WALK_B","RISE_GU","GUARD_GU","GRAB_GU"};
static void situ(void){ for(int s=0;s<SITUATIONS;s++){ int t=0; for(int d=0;d<DEEDS;d++) t+=sn[s][d]; if(!t) continue; printf("   %-13s",SIT[s]); for(int d=0;d<DEEDS;d++) if(sn[s][d]*50>t||abs(sd[s][d])>400) printf(" %s:%d(%+.1f)",DEE[d],sn[s][d],sn[s][d]?(double)sd[s][d]/sn[s][d]:0.0); printf("\n"); } }
static int cmp(const void*a,const void*b){ double x=((const Player*)a)->score,y=((const Player*)b)->score; return x<y?1:x>y?-1:0; }
static void show(const Player*p){ static const char*F[]={"gap","height","status","own","since","shot"};
  if(p->kind==K_CELLS){ printf("late %d int %d ck %d",p->late,p->aint,p->ck); if(p->ck){for(int i=0;i<p->ck;i++)printf(" f%d<%d",p->cf[i],p->ct[i]);} else printf(" e %d,%d,%d h %d g %d%d%d%d%d%d%d",p->edge[0],p->edge[1],p->edge[2],p->hedge,p->grp[0],p->grp[1],p->grp[2],p->grp[3],p->grp[4],p->grp[5],p->grp[6]); for(int c=0;c<(p->ck?1<<p->ck:24);c++) printf(" %s",p->aint?TA[p->tab[c]].n:MAC[p->tab[c]].name); } else if(p->kind<=K_BLIND){ for(int i=0;i<p->n;i++){ u8 w=p->s[i].way; printf("%s%s%s%s+%c:%d ",w&1?"F":"",w&2?"B":"",w&4?"U":"",w&8?"D":""," XYZABC"[p->s[i].btn]==' '?'-':" XYZABC"[p->s[i].btn],p->s[i].dur);} }
  else if(p->kind==K_ACT){ printf("int %d:",p->aint); for(int i=0;i<p->n;i++)printf(" %d",p->act[i]); }
  else if(p->kind==K_TABLE){ for(int g=0;g<4;g++){for(int s=0;s<4;s++)printf("%s ",MAC[p->tab[g*4+s]].name);printf("| ");} }
  else { for(int i=0;i<p->nr;i++){ printf("if %s%s%d",F[p->r[i].f],p->r[i].op?">=":"<=",p->r[i].t); if(p->kind==K_RULE2&&p->r[i].f2!=255)printf(" & %s%s%d",F[p->r[i].f2],p->r[i].op2?">=":"<=",p->r[i].t2); printf(" -> %s; ",MAC[p->r[i].mac].name);} printf("else %s",MAC[p->dflt].name);} }
static void detail(Player*p,int level,int n,u32 seed){ int w=0,d=0,ck=0,cw=0; double dl=0,rd=0,fr=0; memset(landdmg,0,sizeof landdmg); memset(sd,0,sizeof sd); memset(sn,0,sizeof sn); for(int i=0;i<n;i++){ Res r=match(p,level,i&3,(i>>2)&3,seed+i*104729u,0); w+=r.out>0; d+=r.out==0; ck+=r.clock; cw+= r.out>0&&r.clock; dl+=r.dealt; rd+=r.rounds; fr+=r.frames; } double q=(double)w/n,z=1.96,den=1+z*z/n,c=(q+z*z/(2*n))/den,hh=z*sqrt(q*(1-q)/n+z*z/(4.0*n*n))/den; printf("L%d %3.0f%% [%4.1f-%4.1f] draw %d clockwins %d dealt/round %.0f secs %.0f  ",level,100*q,100*(c-hh),100*(c+hh),d,cw,dl/rd,fr/n/60); fflush(stdout); }
static void loadT(void){ char*f=getenv("TACT"); if(f){FILE*h=fopen(f,"rb"); if(h){ if(fread(T,1,sizeof T,h)!=sizeof T) fclose(h);} } }
static double evalpool(Entry*e,int n,int m,u32 seed,double*worst){ double s=0; *worst=0; for(int i=0;i<n;i++){ play(&e[i].p,e[i].level,m,seed+i*131u); double w=e[i].p.wins, mm=(e[i].p.score-w)/0.3; double lim=e[i].level>=8?0.02:e[i].level>=6?0.05:0.12; double x=w-lim; double v= (x>0? x*3+x*x*4 : 0) + w + 0.3*mm; s+=v; if(w>*worst)*worst=w; } return s/n; }
static double limit(const Entry*e){ static const double B[5]={.3,.12,.05,.02,.02},R1[5]={.5,.25,.12,.08,.05},R2[5]={.75,.45,.33,.24,.16}; int l=(e->level-2)/2; if(l>4)l=4; int k=e->p.kind; return (k<=K_BLIND||k==K_ACT)?B[l]:(k==K_RULE1||(k==K_CELLS&&e->p.ck==1))?R1[l]:R2[l]; }
int main(int argc,char**argv){
  mkact(); loadT();
  { char*f=getenv("SKILL"); int l,a[7]; while(f&&*f){ if(sscanf(f,"%d:%d,%d,%d,%d,%d,%d,%d",&l,a,a+1,a+2,a+3,a+4,a+5,a+6)==8) skills[l]=(struct skill){a[0],a[1],a[2],a[3],a[4],a[5],a[6]}; f=strchr(f,';'); if(f)f++; } }

  if(argc>1&&!strcmp(argv[1],"pg")){ /* pg level late ck iters seed */ int level=atoi(argv[2]); rs=(u32)atoi(argv[6])*2654435761u+1; Player p; memset(&p,0,sizeof p); p.kind=K_CELLS; p.late=atoi(argv[3]); p.ck=atoi(argv[4]); int iters=atoi(argv[5]);
    int iv[6]={0,0,0,30,12,6}; p.aint=iv[rint_(0,5)]; p.edge[0]=rint_(40,56); p.edge[1]=rint_(60,90); p.edge[2]=rint_(95,150); p.hedge=rint_(4,50); for(int i=0;i<7;i++){u8 g[7]={0,0,0,0,1,1,2};p.grp[i]=runif()<0.75?g[i]:rint_(0,2);} for(int i=0;i<2;i++){ int f=p.cf[i]=rint_(0,6); p.ct[i]=f==0?rint_(40,140):f==1?rint_(2,60):f==2?rint_(2,30):f==3?rint_(2,40):f==4?rint_(-60,60):rint_(1,126); }
    memset(CW,0,sizeof CW); int n=p.aint?28:24, nc=p.ck?1<<p.ck:24; static double G[24][64],N[24][64]; cwstoch=1; double eta=1.2;
    for(int it=0;it<iters;it++){ memset(G,0,sizeof G); memset(N,0,sizeof N); for(int q=0;q<64;q++){ crec=rec=1; nev=nch=ncch=0; match(&p,level,q&3,(q>>2)&3,rnd(),0); crec=rec=0; int a=0; int f0=0; /* hn counts fight frames; events count all: approximate by own map */ for(int c=0;c<ncch;c++){ while(a<nev&&ev[a].h<cch[c][2]+2)a++; double g=0; for(int b=a;b<nev&&ev[b].h<cch[c][2]+130;b++) g-=ev[b].g*(ev[b].h-cch[c][2]>40?exp(-(ev[b].h-cch[c][2]-40)/40.0):1); G[cch[c][0]][cch[c][1]]+=g; N[cch[c][0]][cch[c][1]]++; } }
      for(int c=0;c<nc;c++){ double nn=0,g=0; for(int a=0;a<n;a++){nn+=N[c][a];g+=G[c][a];} if(nn<8) continue; double m=g/nn,mx=-1e9; for(int a=0;a<n;a++) if(N[c][a]>0){ double st=eta*((G[c][a]/N[c][a]-m)*N[c][a]/(N[c][a]+8))/6; if(st>0.5)st=0.5; if(st<-0.5)st=-0.5; CW[c][a]+=st; } for(int a=0;a<n;a++) if(CW[c][a]>mx)mx=CW[c][a]; for(int a=0;a<n;a++){ CW[c][a]-=mx; if(CW[c][a]<-5)CW[c][a]=-5; } } }
    cwstoch=0; for(int c=0;c<nc;c++){ int b=0; for(int a=0;a<n;a++) if(CW[c][a]>CW[c][b]) b=a; p.tab[c]=b; }
    /* hill climb on the argmax */ play(&p,level,96,rnd()); for(int k=0;k<(argc>7?atoi(argv[7]):60);k++){ Player q=p; q.tab[rint_(0,nc-1)]=rint_(0,n-1); play(&q,level,32,rnd()); if(q.score>p.score-0.05){ play(&q,level,128,rnd()); if(q.score>p.score) p=q; } }
    play(&p,level,160,rnd());
    if(getenv("POOL")&&p.wins>0.04){ FILE*h=fopen(getenv("POOL"),"ab"); Entry en={p,level}; fwrite(&en,sizeof en,1,h); fclose(h); }
    detail(&p,level,304,777); show(&p); printf("\n"); return 0; }
  if(argc>1&&!strcmp(argv[1],"teach")){ /* teach level iters eta seed file */ int level=atoi(argv[2]),iters=atoi(argv[3]); double eta=atof(argv[4]); rs=atoi(argv[5])*2654435761u+1; teach_on=1; 
    FILE*h=fopen(argv[6],"rb"); if(h){fread(TW,1,sizeof TW,h);fclose(h);} 
    static double G[TC][NA],N[TC][NA]; if(getenv("LATE"))teach_late=atoi(getenv("LATE"));
    for(int it=0;it<iters;it++){ memset(G,0,sizeof G); memset(N,0,sizeof N); int win=0,dr=0,ck=0; double bal=0; int M=256;
      for(int q=0;q<M;q++){ trec=rec=1; nev=nch=0; Res r=match(NULL,level,q&3,(q>>2)&3,rnd(),0); trec=rec=0; win+=r.out>0; dr+=r.out==0; ck+=r.clock; bal+=(double)(r.dealt-r.taken)/r.rounds; int a=0;
        double wr=r.out>0?0:0; for(int c=0;c<ntch;c++){ while(a<nev&&ev[a].h<tch[c][2]+2)a++; double g=wr; for(int b=a;b<nev&&ev[b].h<tch[c][2]+130;b++) g-=ev[b].g*(ev[b].h-tch[c][2]>50?exp(-(ev[b].h-tch[c][2]-50)/50.0):1); G[tch[c][0]][tch[c][1]]+=g; N[tch[c][0]][tch[c][1]]++; } }
      for(int c=0;c<TC;c++){ double n=0,g=0; for(int a=0;a<NA;a++){n+=N[c][a];g+=G[c][a];} if(n<8) continue; double m=g/n; for(int a=0;a<NA;a++) if(N[c][a]>0){ double adv=(G[c][a]/N[c][a]-m)*N[c][a]/(N[c][a]+8); double st=eta*adv/6; if(st>0.5)st=0.5; if(st<-0.5)st=-0.5; TW[c][a]+=st; } double mx=-1e9; for(int a=0;a<NA;a++) if(TW[c][a]>mx)mx=TW[c][a]; for(int a=0;a<NA;a++){ TW[c][a]-=mx; if(TW[c][a]<-5)TW[c][a]=-5; } }
      if(it%10==9) { printf("it %d win %.3f draw %.3f clock %d bal %.1f\n",it,(double)win/M,(double)dr/M,ck,bal/M); fflush(stdout); } 
      h=fopen(argv[6],"wb"); fwrite(TW,1,sizeof TW,h); fclose(h); }
    teach_greedy=1; memset(landdmg,0,sizeof landdmg); int w=0; for(int q=0;q<400;q++){ Res r=match(NULL,level,q&3,(q>>2)&3,q*7919u+5,0); w+=r.out>0; } printf("greedy %.3f\n",w/400.0); { u32 t=0; for(int m=0;m<MOVES;m++)t+=landdmg[0][m]; for(int m=0;m<MOVES;m++) if(landdmg[0][m]*50>t) printf(" %d:%u%%",m,landdmg[0][m]*100/(t?t:1)); printf("\n"); } return 0; }
  if(argc>1&&!strcmp(argv[1],"showteach")){ FILE*h=fopen(argv[2],"rb"); fread(TW,1,sizeof TW,h);fclose(h); for(int c=0;c<TC;c++){ if(c<84) printf("%s %s:",TN[c/6],GN[c%6]); else printf("cell %d:",c); float sum=0; for(int a=0;a<NA;a++) sum+=expf(TW[c][a]); for(int a=0;a<NA;a++) if(expf(TW[c][a])/sum>0.08) printf(" %s %.2f",TA[a].n,expf(TW[c][a])/sum); printf("\n"); } return 0; }
  if(argc>1&&!strcmp(argv[1],"sum")){ static Entry e[4000]; FILE*h=fopen(argv[2],"rb"); int n=fread(e,sizeof(Entry),4000,h); fclose(h); int lv=atoi(argv[3]), m=atoi(argv[4]), as=argc>5?atoi(argv[5]):lv; double s[7]={0},mx[7]={0}; int c[7]={0}; for(int i=0;i<n;i++) if(e[i].level==lv){ play(&e[i].p,as,m,77); int k=e[i].p.kind; s[k]+=e[i].p.wins; c[k]++; if(e[i].p.wins>mx[k])mx[k]=e[i].p.wins; } for(int k=0;k<7;k++) printf("kind %d: n %d mean %.2f max %.2f | ",k,c[k],c[k]?s[k]/c[k]:0,mx[k]); printf("\n"); return 0; }

  if(argc>1&&!strcmp(argv[1],"topn")){ static Entry e[6000]; FILE*h=fopen(argv[2],"rb"); int n=fread(e,sizeof(Entry),6000,h); fclose(h); int m=atoi(argv[3]),lv=argc>4?atoi(argv[4]):0; static double x[6000]; for(int i=0;i<n;i++){ play(&e[i].p,e[i].level,32,99); x[i]=lv&&e[i].level!=lv?-1:e[i].p.wins-limit(&e[i]); } for(int k=0;k<m;k++){ int b=0; for(int i=0;i<n;i++) if(x[i]>x[b])b=i; printf("%d: excess %.2f kind %d ",b,x[b],e[b].p.kind); detail(&e[b].p,e[b].level,200,5); show(&e[b].p); printf("\n"); x[b]=-2; } return 0; }
  if(argc>1&&!strcmp(argv[1],"rise")){ int lv=atoi(argv[2]); Player p; memset(&p,0,sizeof p); p.kind=K_RULE1; p.nr=1; p.late=12; p.r[0].f=F_GAP; p.r[0].op=0; p.r[0].t=argc>3?atoi(argv[3]):60; p.r[0].mac=5; p.dflt=argc>4?atoi(argv[4]):1;
    int tot=0,good=0,bad=0,none=0; static int hg[20],hb[20],hn2[20]; for(int q=0;q<200;q++){ rec=1;nch=nev=0; match(&p,lv,q&3,(q>>2)&3,q*77+5,0); rec=0; int k=0; for(int c=0;c<nch;c++) if(ch[c].s==ROSE&&ch[c].d==GUARD_AND_PUNISH){ while(k<nev&&ev[k].f<=ch[c].f)k++; int g=0; for(int b=k;b<nev&&ev[b].f<ch[c].f+70;b++) g+=ev[b].g; tot++; { int B=ch[c].gap/10; if(B>19)B=19; hn2[B]++; if(g>3)hg[B]++; if(g<-3)hb[B]++; static int a1[16],a2[16]; int S=ch[c].st&15; a1[S]++; if(g>3)a2[S]++; if(q==199) for(int z=0;z<16;z++) if(a1[z]) {printf("state %d: %d good %d; ",z,a1[z],a2[z]); } }  if(g>3)good++; else if(g<-3)bad++; else none++; if(q<4&&getenv("VB")) printf("gap %d st %d fr %d ",ch[c].gap,ch[c].st,ch[c].fr),printf("f%d g%d  \n",ch[c].f,g); } } for(int z=0;z<20;z++) if(hn2[z]) printf("gap %d: n %d good %d bad %d\n",z*10,hn2[z],hg[z],hb[z]); printf("rose: %d good %d bad %d none %d\n",tot,good,bad,none); Entry e={p,lv}; detail(&e.p,lv,200,5); printf("\n"); return 0; }
  if(argc>1&&!strcmp(argv[1],"showT")){ for(int s=0;s<SITUATIONS;s++){ for(int k=0;k<CIRCUMSTANCES;k++){ printf("%d [%s] = {",k,SIT[s]); for(int d=0;d<DEEDS;d++) if(T[s][d][k]!=0&&(k==0?T[s][d][k]>8:abs(T[s][d][k])>20)) printf("%s:%d ",DEE[d],T[s][d][k]); printf("\n"); } } return 0; }
  if(argc>1&&!strcmp(argv[1],"opt3")){ /* opt3 pool iters seed out eta */ static Entry e[6000]; FILE*h=fopen(argv[2],"rb"); int n=fread(e,sizeof(Entry),6000,h); fclose(h); int iters=atoi(argv[3]); rs=(u32)atoi(argv[4])*2654435761u+1; double eta=argc>6?atof(argv[6]):0.5;
    static float F[CIRCUMSTANCES][SITUATIONS][DEEDS]; static double W[CIRCUMSTANCES][SITUATIONS][DEEDS],R[CIRCUMSTANCES][SITUATIONS][DEEDS]; static double wins[6000],pr[6000]; static s8 bestT[SITUATIONS][DEEDS][CIRCUMSTANCES]; double ex0=0,bex=1e9,ex1=0;
    for(int k=0;k<CIRCUMSTANCES;k++)for(int s=0;s<SITUATIONS;s++)for(int d=0;d<DEEDS;d++)F[k][s][d]=T[s][d][k];
    for(int it=0;it<=iters;it++){
      if(it%40==0){ double x=0,ex=0; for(int i=0;i<n;i++){ int w=0; for(int q=0;q<24;q++) w+=match(&e[i].p,e[i].level,q&3,(q>>2)&3,q*7919u+4242+i,0).out>0; double v=w/24.0; double o=fmax(0,v-limit(&e[i])); ex+=o; x+=o+o*o*2+0.1*v; wins[i]=it?0.5*wins[i]+0.5*v:v; } if(it==0)ex0=ex; if(x<bex){bex=x;ex1=ex;memcpy(bestT,T,sizeof T);} if(getenv("VERB"))printf("%d %.2f excess %.2f\n",it,x,ex); if(it==iters)break; }
      memset(W,0,sizeof W); memset(R,0,sizeof R); double tot=0; for(int i=0;i<n;i++) tot+=pr[i]=0.012+fmax(0,wins[i]-0.8*limit(&e[i]));
      for(int z=0;z<96;z++){ double u=runif()*tot; int i; for(i=0;i<n-1;i++){u-=pr[i]; if(u<0)break;} double won=0; static struct{u8 s,d;u16 asp;double g;} cc[40000]; int nc=0; double bs[SITUATIONS]={0},bn[SITUATIONS]={0};
        for(int q=0;q<4;q++){ rec=1; nch=nev=0; Res r=match(&e[i].p,e[i].level,(q+it+z)&3,rnd()&3,rnd(),0); rec=0; won+=r.out>0; int a=0; for(int c=0;c<nch;c++){ while(a<nev&&ev[a].f<ch[c].f+2)a++; double g=0; for(int b=a;b<nev&&ev[b].f<ch[c].f+110;b++) g+=ev[b].g*(ev[b].f-ch[c].f>20?exp(-(ev[b].f-ch[c].f-20)/60.0):1); if(nc<40000){ cc[nc].s=ch[c].s;cc[nc].d=ch[c].d;cc[nc].asp=ch[c].asp;cc[nc++].g=g; bs[ch[c].s]+=g; bn[ch[c].s]++; } } }
        wins[i]=0.75*wins[i]+0.25*won/4; for(int c=0;c<nc;c++) if(bn[cc[c].s]>3) for(int k=0;k<CIRCUMSTANCES;k++) if(cc[c].asp>>k&1){ W[k][cc[c].s][cc[c].d]++; R[k][cc[c].s][cc[c].d]+=cc[c].g-bs[cc[c].s]/bn[cc[c].s]; } }
      for(int k=0;k<CIRCUMSTANCES;k++)for(int s=0;s<SITUATIONS;s++){ double tw=0,ml=0; int md=0; for(int d=0;d<DEEDS;d++) if(T[s][d][0]!=0){tw+=W[k][s][d]; ml+=F[k][s][d]; md++;} if(!md) continue; ml/=md; double mx=-999; for(int d=0;d<DEEDS;d++) if(T[s][d][0]!=0){ double nn=W[k][s][d], st=0; if(tw>=6&&nn>0) st=eta*24/6*(k?0.6:0.8)*R[k][s][d]/nn*nn/(nn+8.0); if(st>12)st=12; if(st<-12)st=-12; F[k][s][d]+=st; F[k][s][d]-=(k?0.012:0.008)*(F[k][s][d]-(k?0:ml)); if(F[k][s][d]>mx)mx=F[k][s][d]; }
        for(int d=0;d<DEEDS;d++) if(T[s][d][0]!=0){ if(k==0){F[k][s][d]-=mx-112; if(F[k][s][d]<16)F[k][s][d]=16;} else {if(F[k][s][d]>60)F[k][s][d]=60; if(F[k][s][d]<-60)F[k][s][d]=-60;} T[s][d][k]=(s8)lrint(F[k][s][d]); } } }
    memcpy(T,bestT,sizeof T); printf("opt3: pool %d excess %.2f -> %.2f\n",n,ex0,ex1); h=fopen(argv[5],"wb"); fwrite(T,1,sizeof T,h); fclose(h); return 0; }
  if(argc>1&&!strcmp(argv[1],"one")){ static Entry e[4000]; FILE*h=fopen(argv[2],"rb"); int n=fread(e,sizeof(Entry),4000,h); fclose(h); int i=atoi(argv[3]); if(i<0)i+=n; detail(&e[i].p,argc>4?atoi(argv[4]):e[i].level,300,5); show(&e[i].p); printf("\n"); situ(); for(int s=0;s<2;s++){printf(s?"  by cpu:":"  by player:"); u32 t=0; for(int m=0;m<MOVES;m++)t+=landdmg[s][m]; for(int m=0;m<MOVES;m++) if(landdmg[s][m]*50>t) printf(" %d:%u%%",m,landdmg[s][m]*100/(t?t:1)); printf("\n");} return 0; }
  if(argc>1&&!strcmp(argv[1],"pool")){ static Entry e[2000]; FILE*h=fopen(argv[2],"rb"); int n=fread(e,sizeof(Entry),2000,h); fclose(h); for(int i=0;i<n;i++){ detail(&e[i].p,e[i].level,100,5); show(&e[i].p); printf("\n"); } return 0; }

  const char*cmd=argc>1?argv[1]:"speed";
  if(!strcmp(cmd,"speed")){ Player p=rplayer(K_SIDE,0); for(int i=0;i<300;i++) match(&p,4,i&3,(i>>2)&3,i+1,0); printf("frames %ld\n",total_frames); return 0; }
  if(!strcmp(cmd,"ladder")){ int n=argc>2?atoi(argv[2]):300; for(int l=1;l+1<=LEVELS;l++) for(int k=1;k<=2&&l+k<=LEVELS;k++){ int w=0,d=0,ck=0; double fr=0; for(int i=0;i<n;i++){ int sw=i&1; Res r=match(NULL,sw?l+k:l,(i>>1)&3,(i>>3)&3,i*7919u+17,sw?l:l+k); w+= sw? r.out<0: r.out>0; d+=r.out==0; ck+=r.clock; fr+=r.frames; } printf("L%d beats L%d: %.1f%% draws %d clock rounds %d secs %.0f\n",l+k,l,100.0*w/n,d,ck,fr/n/60);} return 0; }
  /* evolve kind level late seconds seed */
  int kind=atoi(argv[2]),level=atoi(argv[3]),late=atoi(argv[4]),gens=atoi(argv[5]); rs=(u32)atoi(argv[6])*2654435761u+1; 
  int N=300; Player*pop=malloc(sizeof(Player)*(N+400));
  for(int i=0;i<N;i++){ pop[i]=rplayer(kind,late); play(&pop[i],level,6,rnd()); }
  qsort(pop,N,sizeof*pop,cmp); int E=24; for(int i=0;i<E;i++) play(&pop[i],level,32,rnd()); qsort(pop,E,sizeof*pop,cmp);
  for(int g=0;g<gens;g++){ int C=72; for(int i=0;i<C;i++){ Player c= runif()<0.9? mutate(pop[(int)(E*runif()*runif())]) : rplayer(kind,late); play(&c,level,12,rnd()); if(c.score>pop[E-1].score-0.1) play(&c,level,48,rnd()); pop[E+i]=c; } qsort(pop,E+C,sizeof*pop,cmp); for(int i=0;i<4;i++) play(&pop[i],level,64,rnd()); qsort(pop,E,sizeof*pop,cmp); }
  for(int i=0;i<6;i++) play(&pop[i],level,160,rnd()); qsort(pop,6,sizeof*pop,cmp);
  if(getenv("POOL")){ FILE*h=fopen(getenv("POOL"),"ab"); for(int i=0;i<2;i++) if(pop[i].wins>0.03){ Entry en={pop[i],level}; fwrite(&en,sizeof en,1,h);} fclose(h); }
  for(int i=0;i<3;i++){ detail(&pop[i],level,304,777); show(&pop[i]); printf("\n"); }
  if(argc>7 && argv[7][0]=='y') situ();
  if(argc>7){ for(int s=0;s<2;s++){printf(s?"  by cpu:":"  by player:"); u32 t=0; for(int m=0;m<MOVES;m++)t+=landdmg[s][m]; for(int m=0;m<MOVES;m++) if(landdmg[s][m]*50>t) printf(" %d:%u%%",m,landdmg[s][m]*100/(t?t:1)); printf("\n");} }
  return 0; }
