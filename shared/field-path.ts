/** Where in a body something is, as a program would write it: `features[3].geometry.coordinates[0][5]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${String(step)}`))
    .join('')
}
