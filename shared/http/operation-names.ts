import type { JsonSchema } from './openapi-schemas.ts'

export interface Tag {
  name: string
  description: string
}

/** Tags of an API and their nouns: a path belongs to the first tag with a noun among its segments. */
export interface Tags {
  rules: readonly (Tag & { nouns: readonly string[] })[]
  /** Tags that come first in the documents; the others follow in the order of the rules. */
  order: readonly string[]
}

/** Returns the tags in the order of the documents. */
export function allTags({ rules, order }: Tags): Tag[] {
  const rank = ({ name }: Tag) => (order.includes(name) ? order.indexOf(name) : order.length)
  return rules.map(({ name, description }) => ({ name, description })).sort((a, b) => rank(a) - rank(b))
}

export function tagOf({ rules }: Tags, path: string): string | undefined {
  const levels = path.split('/')
  return rules.find(({ nouns }) => nouns.some((noun) => levels.includes(noun)))?.name
}

interface Named {
  method: string
  path: string
  /** Status of a successful response. */
  status: number
  answer: JsonSchema | undefined
}

/**
 * Derives the name of an operation from its method and path, so it is as stable as they are: `GET /users` is
 * `listUsers`, `POST /users` `createUser`, `POST /users/{id}/rotate-key` `rotateUserKey`.
 */
export function operationIdOf({ method, path, status, answer }: Named): string {
  const levels = path.split('/').filter((level) => level !== '')
  const words = levels.flatMap((level, i) => {
    if (level.startsWith('{')) return []
    return [levels[i + 1]?.startsWith('{') ? singular(level) : level]
  })
  const last = words.at(-1) ?? ''
  const owners = words.slice(0, -1)
  if (method === 'post' && !last.endsWith('s')) {
    const [verb = last, ...object] = last.split('-')
    return camelCase([verb, ...owners, ...object])
  }
  if (method === 'post') return camelCase([status === 201 ? 'create' : 'send', ...owners, singular(last)])
  // a parameter after a plural, such as users, selects one item; any other parameter is added to the name
  const parameter = levels.at(-1)?.startsWith('{') ? levels.at(-1)?.slice(1, -1) : undefined
  const isPicked = levels.at(-2) !== last
  if (parameter !== undefined && !isPicked) words.push('by', parameter)
  if (method === 'get') return camelCase([isList(answer) ? 'list' : 'get', ...words])
  return camelCase([method === 'patch' ? 'update' : method, ...words])
}

function isList(answer: JsonSchema | undefined): boolean {
  return answer?.type === 'array' || answer?.properties?.pagination !== undefined
}

function singular(word: string): string {
  return word.replace(/ies$/, 'y').replace(/s$/, '')
}

function camelCase(words: string[]): string {
  return words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .filter((word) => word !== '')
    .map((word, i) => (i === 0 ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`))
    .join('')
}
