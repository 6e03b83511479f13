import type { ApiError } from '#operator/kubernetes/api/api-error';
import type { KubeObject } from '#operator/kubernetes/api/object';
import { z } from 'zod';
import { Problem } from '../problem.ts';

export const MANAGER = 'vmcp-management';

const TAKE_OVER = 'change it there, or take the fields over with force=true';

const ManagedFields = z.array(z.object({ manager: z.string().optional(), fieldsV1: z.unknown() })).catch([]);

/** Returns no managers after a rejection for another reason. */
export function conflictingManagers({ causes }: ApiError): string[] {
  const managers = causes.flatMap(({ reason, message }) =>
    reason === 'FieldManagerConflict' ? [/conflict with "([^"]+)"/.exec(message ?? '')?.[1] ?? 'another manager'] : [],
  );
  return [...new Set(managers)];
}

/** Labels and annotations count, too. */
export function managersOf(object: KubeObject, fields: readonly string[]): string[] {
  const managers = ManagedFields.parse(object.metadata.managedFields).flatMap(({ manager, fieldsV1 }) => {
    const text = JSON.stringify(fieldsV1 ?? {});
    return manager !== undefined && fields.some((field) => text.includes(`"f:${field}"`)) ? [manager] : [];
  });
  return [...new Set(managers)].filter((manager) => manager !== MANAGER);
}

export function conflict(name: string, managers: readonly string[]): Problem {
  const owners = managers.map((manager) => `"${manager}"`).join(', ');
  return new Problem('conflict', `"${name}": ${owners} owns what would change: ${TAKE_OVER}`);
}
