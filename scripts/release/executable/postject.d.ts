declare module 'postject' {
  /** Adds a resource to an executable. */
  export function inject(path: string, name: string, content: Buffer, options: { sentinelFuse: string }): Promise<void>
}
