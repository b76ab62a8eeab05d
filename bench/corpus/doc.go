// Package corpus gives benchmarks their meetings: the real ones of the corpus,
// and any number resampled from them. Nothing of the corpus is in the project;
// it is read from MINUTEBOOK_CORPUS, or shared/corpus beside the
// repository.
package corpus
