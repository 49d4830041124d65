/**
 * What a process of ours needs of the environment of this one to start, without compiling again what has been compiled,
 * and these settings; none of the settings of this one.
 */
export function bareEnvironment(settings: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
  return { PATH, NODE_COMPILE_CACHE, NODE_OPTIONS, ...settings }
}
