import type { JsonSchema } from './openapi-schemas.ts'

export interface Tag {
  name: string
  description: string
}

/** The parts of the API in the order of the documents, and which paths belong to each: the first that fits. */
const TAGS: (Tag & { paths: RegExp })[] = [
  {
    name: 'Commands',
    description: 'Tell a device to do something, and learn what became of it.',
    paths: /commands(\/|$)/,
  },
  {
    name: 'Configuration',
    description: 'Defaults of a device type, settings of a group and of one device, merged in that order.',
    paths: /config(\/|$)|^\/device-types/,
  },
  {
    name: 'Geofences',
    description: 'The zones of a group, and who went in and out.',
    paths: /geofence/,
  },
  {
    name: 'Telemetry',
    description: 'GPS and battery: the newest record, the history, files of it, and how to delete it.',
    paths: /\/(gps|battery|telemetry)(\/|$)/,
  },
  { name: 'Groups', description: 'Devices that belong together.', paths: /^\/groups/ },
  { name: 'Devices', description: 'The register, and the latest state of each device.', paths: /^\/devices/ },
  {
    name: 'Lock events',
    description: 'Who locked and unlocked what, when and with what.',
    paths: /^\/lock-events/,
  },
  { name: 'Trips', description: 'Trips and stops, detected from GPS history.', paths: /^\/trips/ },
  { name: 'Users', description: 'People and programs, their keys and scopes.', paths: /^\/users/ },
  {
    name: 'MQTT',
    description: 'The broker: who is connected, and what could not be read.',
    paths: /^\/mqtt/,
  },
  { name: 'System', description: 'How the gateway is doing, and these documents.', paths: /^/ },
]

const ORDER = ['Devices', 'Telemetry', 'Lock events', 'Commands', 'Trips', 'Groups', 'Configuration']

/** The tags in the order of the documents. */
export function allTags(): Tag[] {
  const rank = ({ name }: Tag) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length)
  return TAGS.map(({ name, description }) => ({ name, description })).sort((a, b) => rank(a) - rank(b))
}

/** The part of the API a path belongs to. */
export function tagOf(path: string): string {
  return TAGS.find(({ paths }) => paths.test(path))?.name ?? 'System'
}

interface Named {
  method: string
  path: string
  /** What it answers when all is well. */
  status: number
  answer: JsonSchema | undefined
}

/**
 * A name for an operation that has none: from its method and path, so it stays the same as long as they do.
 * `GET /users` is `listUsers`, `POST /users` `createUser`, `POST /users/{id}/rotate-key` `rotateUserKey`.
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
  // what a parameter picks one of has a plural, such as users; else the parameter tells it from the whole
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
