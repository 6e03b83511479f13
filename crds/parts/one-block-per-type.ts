import type { z } from 'zod';
import { celHas, celString, type Rule, valueAt, withRules } from './rule.ts';

/** The block that belongs to a value of `type`; `none`: no block; `optional`: may be omitted, as all its fields have defaults. */
type Block = { block: string; optional?: true } | 'none';
type Blocks = Record<string, Block>;

/** Returns a flat union: only the block of the `type` is allowed, and required unless optional. Gives the refinement and the CEL rules. */
export function oneBlockPerType<S extends z.ZodType<{ type: string }>>(
  schema: S,
  blocks: Record<z.infer<S>['type'], Block>,
): S {
  const names = new Set(Object.values<Block>(blocks).flatMap((entry) => (entry === 'none' ? [] : [entry.block])));
  return withRules(schema, ...[...names].flatMap((block) => [foreign(block, blocks), missing(block, blocks)].flat()));
}

function foreign(block: string, blocks: Blocks): Rule {
  const owners = ownersOf(block, blocks);
  return {
    at: [block],
    message: `belongs to type ${owners.join(' or ')} only; change type, or remove ${block}`,
    holds: (value) => valueAt(value, [block]) === undefined || owners.includes(String(valueAt(value, ['type']))),
    cel: `!${celHas([block])} || self.type in ${celList(owners)}`,
  };
}

function missing(block: string, blocks: Blocks): Rule[] {
  const owners = ownersOf(block, blocks).filter((type) => {
    const entry = blocks[type];
    return entry !== undefined && entry !== 'none' && entry.optional !== true;
  });
  if (owners.length === 0) return [];
  return [
    {
      at: ['type'],
      message: `type ${owners.join(' or ')} needs the block ${block}; write ${block}, or change type`,
      holds: (value) => valueAt(value, [block]) !== undefined || !owners.includes(String(valueAt(value, ['type']))),
      cel: `${celHas([block])} || !(self.type in ${celList(owners)})`,
    },
  ];
}

function ownersOf(block: string, blocks: Blocks): string[] {
  return Object.keys(blocks).filter((type) => {
    const entry = blocks[type];
    return entry !== undefined && entry !== 'none' && entry.block === block;
  });
}

const celList = (values: string[]) => `[${values.map(celString).join(', ')}]`;
