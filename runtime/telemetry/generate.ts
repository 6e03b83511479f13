import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderMetricReference } from './render-metric-reference.ts';

// Writes the reference page of the metrics.
writeFileSync(join(import.meta.dirname, '../../docs/reference/metrics.md'), renderMetricReference());
