/* Columns of one panel: samples side by side, feature by feature, so that a vector holds one
   feature of several samples. 256 bytes a feature: four 64-byte accumulators cover the latency of a
   fused multiply-add. */
#ifndef MLCORE_PANEL_H
#define MLCORE_PANEL_H

enum { PANEL_BYTES = 256, PANEL_FLOAT = 64, PANEL_DOUBLE = 32 };

#endif
