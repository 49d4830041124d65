import { useEffect } from 'preact/hooks'
import { useDashboard } from './dashboard-context.ts'

/** Names the screen and the course in the title of the page; null leaves it to a page within the screen. */
export function useTitle(screen: string | null): void {
  const { name } = useDashboard().site.value
  useEffect(() => {
    if (screen !== null) document.title = [screen, name === '' ? 'cartbarn' : name].join(' · ')
  }, [screen, name])
}
