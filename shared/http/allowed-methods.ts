/** The methods for which there is a route at this path, HEAD beside GET; empty when there is no such path. */
export function allowedMethods(routes: readonly { method: string; path: string }[], path: string): string[] {
  const methods = new Set(
    routes.filter((route) => route.method !== 'ALL' && matches(route.path, path)).map(({ method }) => method),
  )
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}

function matches(routePath: string, path: string): boolean {
  const pattern = levels(routePath)
  const actual = levels(path)
  return (
    pattern.length === actual.length &&
    pattern.every((level, i) => (level.startsWith(':') ? actual[i] !== '' : level === actual[i]))
  )
}

function levels(path: string): string[] {
  // an empty level is another path; the slash a path may end with is gone here
  return path.split('/')
}
