import { readProgramFile } from './program-files.ts'

/** Returns name and version of the product from `package.json`. */
export function readVersion(): string {
  const content: unknown = JSON.parse(readProgramFile('package.json').toString())
  const isPackage = typeof content === 'object' && content !== null && 'version' in content
  return `cartbarn ${isPackage ? content.version : 'of an unknown version'}`
}

/** Returns only the version, such as `1.0.0`. */
export function programVersion(): string {
  return readVersion().replace('cartbarn ', '')
}
