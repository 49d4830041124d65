import { readFileSync } from 'node:fs'

/** Name and version of the product, as in `package.json`. */
export function readVersion(): string {
  const content: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const isPackage = typeof content === 'object' && content !== null && 'version' in content
  return `cartbarn ${isPackage ? content.version : 'of an unknown version'}`
}
