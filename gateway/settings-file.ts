import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { ConfigError, describeError } from '#shared/errors.ts'

const jsonSchema = z.record(z.string(), z.union([z.string(), z.number()]))
const LINE = /^([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$/
const QUOTED = /^(["'])(.*)\1$/

/**
 * Reads names and values of a settings file: one JSON object, or lines as `NAME=value`, in which `#` begins a comment
 * and an empty value counts as unset. Throws a `ConfigError`.
 */
export function readSettingsFile(path: string): Record<string, unknown> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${describeError(error)}`)
  }
  return text.trimStart().startsWith('{') ? readJson(text, path) : readLines(text, path)
}

function readJson(text: string, path: string): Record<string, unknown> {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch (error) {
    // the message of JSON.parse quotes the file, which may hold secrets
    const reason = error instanceof SyntaxError ? `invalid JSON${placeIn(error)}` : describeError(error)
    throw new ConfigError(`cannot read the configuration file ${path}: ${reason}`)
  }
  const parsed = jsonSchema.safeParse(content)
  if (!parsed.success)
    throw new ConfigError(`the configuration file ${path} must be one JSON object of names and values`)
  return parsed.data
}

function readLines(text: string, path: string): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.trim()
    if (content === '' || content.startsWith('#')) continue
    const fault = (words: string) => new ConfigError(`line ${index + 1} of the configuration file ${path} ${words}`)
    const [, name, written = ''] = LINE.exec(content) ?? []
    if (name === undefined) throw fault('must be NAME=value, a comment that begins with #, or empty')
    if (Object.hasOwn(values, name)) throw fault(`gives ${name} again`)
    const value = written.trim()
    if (value !== '') values[name] = QUOTED.exec(value)?.[2] ?? value
  }
  return values
}

function placeIn({ message }: SyntaxError): string {
  const [, line, column] = /line (\d+) column (\d+)/.exec(message) ?? []
  return line === undefined ? '' : ` at line ${line}, column ${column}`
}
