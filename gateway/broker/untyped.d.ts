declare module 'qlobber' {
  interface QlobberOptions {
    separator?: string
    wildcard_one?: string
    wildcard_some?: string
    match_empty_levels?: boolean
  }

  export class Qlobber<Value> {
    constructor(options?: QlobberOptions)
    add(topic: string, value: Value): this
    remove(topic: string, value: Value): this
    match(topic: string): Value[]
  }
}

declare module 'aedes-persistence/abstract.js' {
  import type { test } from 'node:test'

  // biome-ignore lint/style/noDefaultExport: so it is in the package
  export default function runSuite(options: {
    test: typeof test
    testAsync: true
    persistence: () => Promise<object>
  }): void
}
