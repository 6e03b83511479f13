import { RegistryContent } from '../records/registry.ts';
import content from './built-in.json' with { type: 'json' };

/** Built-in registry of vmcp. */
export const BUILT_IN: RegistryContent = RegistryContent.parse(content);
