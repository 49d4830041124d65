/**
 * Keeps the screen of the tablet on; ends with what it returns. Browsers do that for pages over TLS only: over plain
 * HTTP nothing is asked. A page that was out of sight has to ask again.
 */
export function keepScreenOn(): () => void {
  if (location.protocol !== 'https:' || !('wakeLock' in navigator)) return () => undefined
  let lock: WakeLockSentinel | null = null
  let isOver = false
  const ask = async () => {
    if (isOver || document.visibilityState !== 'visible') return
    try {
      lock = await navigator.wakeLock.request('screen')
      if (isOver) await lock.release()
    } catch {
      // as with an empty battery: the screen goes off as on any other page
    }
  }
  const seen = () => void ask()
  document.addEventListener('visibilitychange', seen)
  void ask()
  return () => {
    isOver = true
    document.removeEventListener('visibilitychange', seen)
    void lock?.release().catch(() => undefined)
  }
}
