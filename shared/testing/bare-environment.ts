/**
 * Environment for a child process: what it needs from this one to start without recompiling, and these settings, but
 * none of the settings of this process.
 */
export function bareEnvironment(settings: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
  return { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, ...settings }
}
