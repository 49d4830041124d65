import { createRoute, type RouteConfig } from '@hono/zod-openapi'

/** Creates a factory of routes with this method from a path, a summary and further OpenAPI fields. */
function routesOf<const Method extends RouteConfig['method']>(method: Method) {
  return <const Path extends string, const Rest extends Omit<RouteConfig, 'method' | 'path' | 'summary'>>(
    path: Path,
    summary: string,
    rest: Rest,
  ) => createRoute({ method, path, summary, ...rest })
}

/** Route factories by method: `api.openapi(route.get('/users', 'List users', { … }), handler)`. */
export const route = {
  get: routesOf('get'),
  post: routesOf('post'),
  put: routesOf('put'),
  patch: routesOf('patch'),
  delete: routesOf('delete'),
}
