import { z } from 'zod';

/** Returns the schema of a boolean query parameter. A parameter without a value is on. */
export const flag = (what: string) => z.enum(['true', 'false', '']).default('false').describe(what);

export const isOn = (value: 'true' | 'false' | ''): boolean => value !== 'false';
