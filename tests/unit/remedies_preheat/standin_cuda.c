/* Stands in for libcuda and cuBLAS on a machine without a card: it logs each call as
   "NAME CLOCK_MONOTONIC_NS THREAD VALUE", takes as long as it is told and gives the answers it is
   told. The variables that steer it begin with STANDIN. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static void pause_ms(int ms) {
    struct timespec left = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&left, NULL);
}

static void note(const char *name, const char *value) {
    const char *path = getenv("STANDIN_LOG");
    struct timespec now;
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(file, "%s %lld %ld %s\n", name, now.tv_sec * 1000000000LL + now.tv_nsec,
            (long)syscall(SYS_gettid), value);
    fclose(file);
}

static void note_number(const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    note(name, text);
}

static int started;

int cuInit(unsigned flags) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    note("cuInit", visible ? visible : "-");
    pause_ms(number("STANDIN_INIT_MS", 0));
    started = 1;
    note("cuInit-done", "-");
    return number("STANDIN_INIT_ERROR", 0);
}

int cuDeviceGetCount(int *count) {
    if (!started) return 3; /* CUDA_ERROR_NOT_INITIALIZED */
    *count = number("STANDIN_COUNT", 1);
    return 0;
}

int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 20 ? number("STANDIN_MODE", 0) : 0;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    note_number("retain", device);
    *context = &started;
    return 0;
}

int cuCtxSetCurrent(void *context) { note("current", "-"); return 0; }
int cuCtxSynchronize(void) { return 0; }

int cuMemAlloc_v2(unsigned long long *memory, size_t size) {
    *memory = (unsigned long long)malloc(size);
    note("alloc", "-");
    return 0;
}

int cuMemFree_v2(unsigned long long memory) {
    free((void *)memory);
    note("free", "-");
    return 0;
}

int cublasCreate_v2(void **made) { *made = &started; note("handle", "-"); return 0; }
int cublasDestroy_v2(void *made) { note("handle-gone", "-"); return 0; }

int cublasSgemm_v2(void *made, int ta, int tb, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c,
                   int ldc) {
    note_number("product", m);
    return number("STANDIN_PRODUCT_ERROR", 0);
}

#ifdef SLOW_CONSTRUCTOR
__attribute__((constructor)) static void slow(void) {
    note("constructor", "-");
    pause_ms(number("STANDIN_CONSTRUCTOR_MS", 0));
    note("constructor-done", "-");
}
#endif
