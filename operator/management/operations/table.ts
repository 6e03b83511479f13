import type { Operation } from '../operation.ts';
import { getVersion } from './about.ts';

/** Every operation of the management API, in the order of the reference. */
export const OPERATIONS: readonly Operation[] = [getVersion];
