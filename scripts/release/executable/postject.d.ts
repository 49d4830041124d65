declare module 'postject' {
  /** Puts a resource into an executable. */
  export function inject(path: string, name: string, content: Buffer, options: { sentinelFuse: string }): Promise<void>
}
