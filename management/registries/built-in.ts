import { RegistryContent } from '../records/registry.ts';
import content from './built-in.json' with { type: 'json' };

export const BUILT_IN: RegistryContent = RegistryContent.parse(content);
