import type { OpenApiDocument, Operation } from './openapi.ts'

/** Finds the operation of a request like the router: literals precede parameters, as in `/trips/active`. */
export function findOperation(document: OpenApiDocument, method: string, path: string): Operation | undefined {
  // resolved like a client does: `/users/.` is `/users/`
  const levels = levelsOf(new URL(path.replace(/^\/+/, '/'), 'http://gateway').pathname)
  const templates = Object.keys(document.paths)
    .filter((template) => fits(levelsOf(template), levels))
    .sort((a, b) => parameterPlaces(a).localeCompare(parameterPlaces(b)))
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase()
  return templates.map((template) => document.paths[template]?.[verb]).find((one) => one !== undefined)
}

function levelsOf(path: string): string[] {
  return path.replace(/\/$/, '').split('/')
}

function fits(template: string[], path: string[]): boolean {
  return (
    template.length === path.length &&
    template.every((level, i) => (level.startsWith('{') ? path[i] !== '' : level === path[i]))
  )
}

function parameterPlaces(template: string): string {
  return levelsOf(template)
    .map((level) => (level.startsWith('{') ? '1' : '0'))
    .join('')
}
