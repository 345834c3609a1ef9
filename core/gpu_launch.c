/* Ways to start a kernel, and graphs; see core/gpu.h. */
#include <cuda.h>
#include <stdlib.h>

#include "core/gpu_inside.h"
#include "core/run.h"

/* --- launches -------------------------------------------------------------------------------- */

cudaError_t gpu_try_launch(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                           const void *args)
{
    cudaLaunchAttribute attribute[4];
    cudaLaunchConfig_t config = {.gridDim = shape->grid,
                                 .blockDim = {shape->block, 1, 1},
                                 .dynamicSmemBytes = shape->shared,
                                 .stream = shape->stream ? shape->stream : r->gpu->stream,
                                 .attrs = attribute};
    void *parameters[] = {(void *)(uintptr_t)args};

    if (shape->cluster > 0) {
        attribute[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attribute[config.numAttrs].val.clusterDim.x = shape->cluster;
        attribute[config.numAttrs].val.clusterDim.y = 1;
        attribute[config.numAttrs++].val.clusterDim.z = 1;
    }
    if (shape->cooperative) {
        attribute[config.numAttrs].id = cudaLaunchAttributeCooperative;
        attribute[config.numAttrs++].val.cooperative = 1;
    }
    if (shape->dependent) {
        attribute[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
    }
    return cudaLaunchKernelExC(&config, (const void *)kernel, parameters);
}

void gpu_launch_shape(struct probe_run *r, cudaKernel_t kernel, const struct gpu_shape *shape,
                      const void *args)
{
    gpu_must(gpu_try_launch(r, kernel, shape, args), "cudaLaunchKernelExC", __FILE__, __LINE__);
}

void gpu_launch_grid(struct probe_run *r, cudaKernel_t kernel, dim3 grid, unsigned block,
                     size_t shared, const void *args)
{
    cudaLaunchConfig_t config = {.gridDim = grid,
                                 .blockDim = {block, 1, 1},
                                 .dynamicSmemBytes = shared,
                                 .stream = r->gpu->stream};
    void *parameters[] = {(void *)(uintptr_t)args};
    CUDA(cudaLaunchKernelExC(&config, (const void *)kernel, parameters));
}

void gpu_launch(struct probe_run *r, cudaKernel_t kernel, unsigned grid, unsigned block,
                size_t shared, const void *args)
{
    gpu_launch_grid(r, kernel, (dim3){grid, 1, 1}, block, shared, args);
}

/* --- graphs ---------------------------------------------------------------------------------- */

void gpu_graph_begin(struct probe_run *r)
{
    CUDA(cudaStreamBeginCapture(r->gpu->stream, cudaStreamCaptureModeThreadLocal));
}

struct gpu_graph gpu_graph_end(struct probe_run *r)
{
    struct gpu_graph g;
    CUDA(cudaStreamEndCapture(r->gpu->stream, &g.graph));
    CUDA(cudaGraphInstantiate(&g.exec, g.graph, 0));
    CUDA(cudaGraphUpload(g.exec, r->gpu->stream));
    CUDA(cudaGraphLaunch(g.exec, r->gpu->stream));
    gpu_wait(r);
    return g;
}

void gpu_graph_free(struct gpu_graph *graph)
{
    CUDA(cudaGraphExecDestroy(graph->exec));
    CUDA(cudaGraphDestroy(graph->graph));
    *graph = (struct gpu_graph){0};
}

static void describe_kernel(struct gpu_node *found, CUgraphNode node)
{
    CUresult (*params_of)(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
    CUresult (*kernel_name)(const char **, CUkernel), (*function_name)(const char **, CUfunction);
    CUDA_KERNEL_NODE_PARAMS p = {0};
    const char *name = NULL;

    params_of = gpu_driver_entry("cuGraphKernelNodeGetParams", 12000);
    kernel_name = gpu_driver_entry("cuKernelGetName", 12030);
    function_name = gpu_driver_entry("cuFuncGetName", 12030);
    if (!params_of || params_of(node, &p) != CUDA_SUCCESS)
        return;
    found->blocks = p.gridDimX * p.gridDimY * p.gridDimZ;
    found->threads = p.blockDimX * p.blockDimY * p.blockDimZ;
    if (!(p.kern && kernel_name && kernel_name(&name, p.kern) == CUDA_SUCCESS) &&
        !(p.func && function_name && function_name(&name, p.func) == CUDA_SUCCESS))
        return;
    snprintf(found->kernel, sizeof found->kernel, "%s", name);
}

struct gpu_node gpu_graph_first_kernel(struct probe_run *r, const struct gpu_graph *graph)
{
    struct gpu_node found = {.kernel = "?"};
    size_t n = 0;

    CUDA(cudaGraphGetNodes(graph->graph, NULL, &n));
    cudaGraphNode_t *nodes = probe_host_alloc(r, n * sizeof *nodes);
    CUDA(cudaGraphGetNodes(graph->graph, nodes, &n));
    for (size_t i = 0; i < n; i++) {
        enum cudaGraphNodeType type;
        CUDA(cudaGraphNodeGetType(nodes[i], &type));
        if (type == cudaGraphNodeTypeKernel && found.n_kernels++ == 0)
            describe_kernel(&found, nodes[i]);
    }
    free(nodes);
    return found;
}
