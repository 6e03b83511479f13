import { z } from 'zod';

/** Treats a parameter without a value as on. */
export const flag = (what: string) => z.enum(['true', 'false', '']).default('false').describe(what);

export const isOn = (value: 'true' | 'false' | ''): boolean => value !== 'false';
