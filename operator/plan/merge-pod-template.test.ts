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

describe('a pod template that is merged over the rendered one', () => {
  it('merges containers by name, and in them environment variables by name', () => {
    const { containers } = spec({ containers: [{ name: 'vmcp', env: [{ name: 'A', value: '2' }, { name: 'B' }] }] });
    expect(containers).toEqual([{ ...rendered.spec.containers[0], env: [{ name: 'A', value: '2' }, { name: 'B' }] }]);
  });

  it('adds what has another name, in the order of the API server', () => {
    const names = (containers: object[]) => spec({ containers }).containers.map(({ name }) => name);
    expect(names([{ name: 'side' }])).toEqual(['side', 'vmcp']);
    expect(names([{ name: 'vmcp' }, { name: 'side' }])).toEqual(['vmcp', 'side']);
    expect(spec({ tolerations: [{ key: 'a' }] })).toMatchObject({ tolerations: [{ key: 'a' }] });
  });

  it('replaces lists without a key, and removes what is null', () => {
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

  it('leaves the rendered template alone', () => {
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
  ])('names the place of what it cannot merge: %j', (written, message) => {
    expect(() => mergePodTemplate(rendered, written)).toThrow(message);
  });
});
