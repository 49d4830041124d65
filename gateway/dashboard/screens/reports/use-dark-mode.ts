import { useEffect, useState } from 'preact/hooks'

/** Whether it is night: a canvas takes its colours when it is drawn. */
export function useDarkness(): boolean {
  const [isDark, setIsDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    const look = () => setIsDark(darkness.matches)
    darkness.addEventListener('change', look)
    return () => darkness.removeEventListener('change', look)
  }, [])
  return isDark
}
