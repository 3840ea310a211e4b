package promres
