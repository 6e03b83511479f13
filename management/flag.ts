import { z } from 'zod';

/** A parameter of a query that is on by its name alone. */
export const flag = (what: string) => z.enum(['true', 'false', '']).default('false').describe(what);

export const isOn = (value: 'true' | 'false' | ''): boolean => value !== 'false';
