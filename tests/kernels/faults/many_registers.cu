// expect 1: expected regs<=8, found
/* More registers than the occupancy of the case allows for. */

// sass: regs<=8 smem=0
extern "C" __global__ void many_registers(double *data, int n)
{
    double a = data[threadIdx.x], b = data[n], c = data[n + 1], d = data[n + 2];

    for (int i = 0; i < n; i++)
        a = a * b + c, b = b * d + a, c = c * a + d, d = d * c + b;
    data[threadIdx.x] = a + b + c + d;
}
