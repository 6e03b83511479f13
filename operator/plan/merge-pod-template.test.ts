import { describe, expect, it } from '@jest/globals';
import { mergePodTemplate } from '#operator/plan/merge-pod-template';

const rendered = {
  metadata: { labels: { app: 'x' } },
  spec: {
    securityContext: { runAsNonRoot: true },
    containers: [
      {
        name: 'vmcp',
        image: 'a',
        args: ['--config', 'x'],
        env: [{ name: 'A', value: '1' }],
        ports: [{ containerPort: 1 }],
      },
    ],
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '64Mi' } }],
  },
};
const spec = (written: object) => (mergePodTemplate(rendered, { spec: written }) as typeof rendered).spec;

describe('mergePodTemplate', () => {
  it('merges containers by name, and in them environment variables by name', () => {
    const { containers } = spec({ containers: [{ name: 'vmcp', env: [{ name: 'A', value: '2' }, { name: 'B' }] }] });
    expect(containers).toEqual([{ ...rendered.spec.containers[0], env: [{ name: 'A', value: '2' }, { name: 'B' }] }]);
  });

  it('adds items with new names, in the order of the API server', () => {
    const names = (containers: object[]) => spec({ containers }).containers.map(({ name }) => name);
    expect(names([{ name: 'side' }])).toEqual(['side', 'vmcp']);
    expect(names([{ name: 'vmcp' }, { name: 'side' }])).toEqual(['vmcp', 'side']);
    expect(spec({ tolerations: [{ key: 'a' }] })).toMatchObject({ tolerations: [{ key: 'a' }] });
  });

  it('replaces lists without a merge key, and removes fields that are null', () => {
    const { containers } = spec({ containers: [{ name: 'vmcp', args: ['y'], ports: null }] });
    expect(containers).toEqual([{ name: 'vmcp', image: 'a', args: ['y'], env: [{ name: 'A', value: '1' }] }]);
  });

  it('removes and replaces by directive', () => {
    const remove = spec({ volumes: [{ name: 'tmp', $patch: 'delete' }] });
    expect(remove.volumes).toEqual([]);
    const replace = spec({ volumes: [{ $patch: 'replace' }, { name: 'other', emptyDir: {} }] });
    expect(replace.volumes).toEqual([{ name: 'other', emptyDir: {} }]);
    expect(spec({ securityContext: { $patch: 'replace', fsGroup: 1 } }).securityContext).toEqual({ fsGroup: 1 });
    const volumes = [{ name: 'tmp', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }];
    expect(spec({ volumes }).volumes).toEqual([{ name: 'tmp', configMap: { name: 'c' } }]);
  });

  it('merges a thousand containers in order, and rejects more, whatever their names', () => {
    const containers = Array.from({ length: 1000 }, (_, at) => ({ name: `c${at}` }));
    expect(spec({ containers }).containers.map(({ name }) => name)).toEqual([
      ...containers.map(({ name }) => name),
      'vmcp',
    ]);
    const same = Array.from({ length: 20_000 }, () => ({ name: 'vmcp', image: 'b' }));
    expect(() => spec({ containers: same })).toThrow(
      'podTemplateSpec.spec: has a list of more than 1000 items: shorten it',
    );
  });

  it('rejects deeper nesting than any pod has', () => {
    let deep: unknown = 'x';
    for (let depth = 0; depth < 9000; depth++) deep = { a: deep };
    expect(() => spec({ x: deep })).toThrow('podTemplateSpec.spec: is nested deeper than 40 levels');
    expect(() => spec({ x: JSON.parse('['.repeat(9000) + ']'.repeat(9000)) as object })).toThrow(
      'deeper than 40 levels',
    );
  });

  it('does not change the rendered template', () => {
    const before = structuredClone(rendered);
    spec({ containers: [{ name: 'vmcp', image: 'b' }], volumes: [{ name: 'tmp', $patch: 'delete' }] });
    expect(rendered).toEqual(before);
  });

  it.each([
    [{ spec: { containers: [{ image: 'b' }] } }, 'podTemplateSpec.spec.containers: an item has no name'],
    [{ spec: { containers: ['b'] } }, 'podTemplateSpec.spec.containers: an item is no object'],
    [{ spec: { securityContext: { $patch: 'x' } } }, 'podTemplateSpec.spec.securityContext: $patch is "x"'],
    [{ spec: { '$setElementOrder/containers': [] } }, 'podTemplateSpec.spec.$setElementOrder/containers: is not known'],
    [{ kind: 'Pod' }, 'podTemplateSpec.kind: is no field of a pod template'],
    [JSON.parse('{"spec":{"__proto__":{"x":1}}}') as object, 'podTemplateSpec.spec.__proto__: is not known'],
  ])('reports the path of a value that it cannot merge: %j', (written, message) => {
    expect(() => mergePodTemplate(rendered, written)).toThrow(message);
  });
});
