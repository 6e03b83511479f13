import type { Operation } from '../operation.ts';
import { aboutOperations } from './about.ts';

/** Every operation of the management API, in the order of the reference. */
export const OPERATIONS: readonly Operation[] = [...aboutOperations];
