/**
 * Keeps the screen of the tablet on; the returned function ends it. Browsers allow that only over TLS: over plain HTTP
 * it is not requested. A page that was hidden must request it again.
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
      // for example with an empty battery: the screen goes off as on any other page
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
