import { quoted } from '../name-program.ts';
import type { TargetOptions } from './target.ts';

export function kubectlFor(
  { kubeconfig, context }: Pick<TargetOptions, 'kubeconfig' | 'context'>,
  namespace: string,
): string {
  const named = Object.entries({ kubeconfig, context }).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option} ${quoted(value)}`],
  );
  return ['kubectl', ...named, `-n ${namespace}`].join(' ');
}
