#include "lesson.h"

#include "blows.h"

u32 write_lessons(const struct decision *decided, u32 decisions, const float *weights, u32 frames, struct lesson *lessons, u32 room)
{
    u32 count = decisions < room ? decisions : room;
    u32 first = 0;
    for (u32 i = 0; i < count; i++) {
        float gained = blows_gained(0, decided[i].frame, &first, weights, frames);
        lessons[i] = (struct lesson){decided[i].cell, decided[i].action, gained};
    }
    return count;
}
