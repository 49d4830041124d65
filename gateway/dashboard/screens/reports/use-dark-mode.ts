import { useEffect, useState } from 'preact/hooks'

/** Returns true in dark mode, for a canvas, which must be redrawn to change its colours. */
export function useDarkness(): boolean {
  const [isDark, setIsDark] = useState(() => matchMedia('(prefers-color-scheme: dark)').matches)
  useEffect(() => {
    const darkness = matchMedia('(prefers-color-scheme: dark)')
    const update = () => setIsDark(darkness.matches)
    darkness.addEventListener('change', update)
    return () => darkness.removeEventListener('change', update)
  }, [])
  return isDark
}
